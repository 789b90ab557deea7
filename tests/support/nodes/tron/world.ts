/**
 * State of the test's Tron chain after a block: accounts, contract code and storage. Its records are
 * never changed in place, so a copy of the maps is a snapshot; the virtual machine works on it through
 * an adapter.
 * @module
 */
import type { StateManagerInterface } from "@ethereumjs/common";
import { Account, Address } from "@ethereumjs/util";
import { keccak256 } from "ethers";

/** One account. Amounts are sun. */
export interface TronAccount {
  readonly balance: bigint;
  /** Milliseconds. */
  readonly created: bigint;
  readonly nonce: bigint;
  /** Bandwidth of staked TRX: what a window holds, what is used of it, and at which slot. */
  readonly netLimit: bigint;
  readonly netUsed: bigint;
  readonly netAt: bigint;
  /** The bandwidth that every account has for nothing. */
  readonly freeUsed: bigint;
  readonly freeAt: bigint;
  /** Energy of staked TRX. */
  readonly energyLimit: bigint;
  readonly energyUsed: bigint;
  readonly energyAt: bigint;
  /** TRC-10 assets by their number. */
  readonly assets: Readonly<Record<string, bigint>>;
}

/** A contract. */
export interface TronContract {
  readonly code: Uint8Array;
  /** The account that deployed it. */
  readonly origin: string;
}

/** State after a block. Keys are addresses of 21 bytes in hex; storage is by address and slot. */
export interface World {
  readonly accounts: Map<string, TronAccount>;
  readonly contracts: Map<string, TronContract>;
  readonly storage: Map<string, Uint8Array>;
}

/** An adapter for the virtual machine, over one world at a time. */
export interface WorldStore extends StateManagerInterface {
  /** Works on this world from now on. */
  use(world: World): void;
  /** The world as it stands. */
  current(): World;
}

const EMPTY = new Uint8Array(0);

/** Makes an account without anything. */
export function emptyAccount(created: bigint): TronAccount {
  return {
    balance: 0n,
    created,
    nonce: 0n,
    netLimit: 0n,
    netUsed: 0n,
    netAt: 0n,
    freeUsed: 0n,
    freeAt: 0n,
    energyLimit: 0n,
    energyUsed: 0n,
    energyAt: 0n,
    assets: {},
  };
}

/** Copies a world. */
export function copyWorld({ accounts, contracts, storage }: World): World {
  return {
    accounts: new Map(accounts),
    contracts: new Map(contracts),
    storage: new Map(storage),
  };
}

/** Changes fields of an account that exists. */
export function change(world: World, address: string, fields: Partial<TronAccount>): void {
  const account = world.accounts.get(address);
  if (!account) throw new Error(`${address} has no account`);
  const changed = { ...account, ...fields };
  if (changed.balance < 0n) throw new Error(`${address} would hold less than nothing`);
  world.accounts.set(address, changed);
}

/** Adds to a balance, or takes from it. */
export function adjust(world: World, address: string, amount: bigint): void {
  const account = world.accounts.get(address);
  change(world, address, { balance: (account?.balance ?? 0n) + amount });
}

/** The machine's address for 21 bytes. */
export function machineAddress(address: string): Address {
  return new Address(Uint8Array.fromHex(address.slice(2)));
}

/** The 21 bytes for an address of the machine. */
export function tronAddress(address: Address): string {
  return `41${address.bytes.toHex()}`;
}

/** Makes an adapter. A new account gets the time that `now` tells. */
export function worldStore(now: () => bigint): WorldStore {
  let levels: World[] = [];
  const top = () => levels[levels.length - 1];
  const slot = (address: Address, key: Uint8Array) => `${tronAddress(address)}/${key.toHex()}`;
  const originals = new Map<string, Uint8Array>();
  const unsupported = () => Promise.reject(new Error("the test's chain has no state root"));
  const store: WorldStore = {
    use(world) {
      levels = [world];
      originals.clear();
    },
    current: () => top(),
    getAccount: (address) => Promise.resolve(readAccount(top(), tronAddress(address))),
    putAccount(address, account) {
      if (account) writeAccount(top(), tronAddress(address), account, now());
      return Promise.resolve();
    },
    deleteAccount(address) {
      top().accounts.delete(tronAddress(address));
      return Promise.resolve();
    },
    async modifyAccountFields(address, fields) {
      const account = await store.getAccount(address) ?? new Account();
      await store.putAccount(address, Object.assign(account, fields));
    },
    putCode(address, code) {
      const known = top().contracts.get(tronAddress(address));
      top().contracts.set(tronAddress(address), { origin: known?.origin ?? "", code });
      return Promise.resolve();
    },
    getCode: (address) => Promise.resolve(top().contracts.get(tronAddress(address))?.code ?? EMPTY),
    getCodeSize: async (address) => (await store.getCode(address)).length,
    getStorage: (address, key) => Promise.resolve(top().storage.get(slot(address, key)) ?? EMPTY),
    putStorage(address, key, value) {
      const at = slot(address, key);
      if (!originals.has(at)) originals.set(at, top().storage.get(at) ?? EMPTY);
      top().storage.set(at, value);
      return Promise.resolve();
    },
    clearStorage(address) {
      clearStorage(top(), tronAddress(address));
      return Promise.resolve();
    },
    checkpoint() {
      levels.push(copyWorld(top()));
      return Promise.resolve();
    },
    commit() {
      levels.splice(-2, 1);
      return Promise.resolve();
    },
    revert() {
      levels.pop();
      return Promise.resolve();
    },
    originalStorageCache: {
      get: (address, key) => {
        const kept = originals.get(slot(address, key));
        return kept ? Promise.resolve(kept) : store.getStorage(address, key);
      },
      clear: () => originals.clear(),
    },
    getStateRoot: unsupported,
    setStateRoot: unsupported,
    hasStateRoot: unsupported,
    clearCaches: () => originals.clear(),
    shallowCopy: () => worldStore(now),
  };
  return store;
}

function clearStorage({ storage }: World, address: string): void {
  for (const key of storage.keys()) if (key.startsWith(`${address}/`)) storage.delete(key);
}

function readAccount(world: World, address: string): Account | undefined {
  const known = world.accounts.get(address);
  if (!known) return undefined;
  const code = world.contracts.get(address)?.code;
  const hash = code && code.length > 0 ? Uint8Array.fromHex(keccak256(code).slice(2)) : undefined;
  return new Account(known.nonce, known.balance, undefined, hash);
}

function writeAccount(world: World, address: string, account: Account, now: bigint): void {
  const known = world.accounts.get(address);
  // A call without value to an address without an account does not make one.
  if (!known && account.isEmpty()) return;
  const { nonce, balance } = account;
  world.accounts.set(address, { ...known ?? emptyAccount(now), nonce, balance });
}
