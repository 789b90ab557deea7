/** Constants of Solana. Amounts are lamports. @module */

/** Hash of the first block of the public networks. */
export const GENESIS_HASHES = {
  main: "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d",
  devnet: "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG",
  testnet: "4uhcVJyU9pJkvQyS88uRDiswHXSGkY3zQawwpjk2NsNY",
} as const;

/** The program that owns wallets. */
export const SYSTEM_PROGRAM = "11111111111111111111111111111111";
/** SPL Token. */
export const TOKEN_PROGRAM = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";
/** Token-2022, whose mints may have extensions. */
export const TOKEN_2022_PROGRAM = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb";
/** The program that derives a wallet's usual token account. */
export const ASSOCIATED_TOKEN_PROGRAM = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL";

/** The program that keeps names of mints of SPL Token. */
export const METADATA_PROGRAM = "metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s";

/** Both token programs. */
export const TOKEN_PROGRAMS: readonly string[] = [TOKEN_PROGRAM, TOKEN_2022_PROGRAM];

/** Rent-exempt minimum of a wallet, which holds no data. */
export const WALLET_RENT = 890_880n;
