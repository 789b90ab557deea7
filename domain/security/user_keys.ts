/**
 * User keys: JWTs signed with EdDSA. Each process signs with a key pair of its own that never leaves
 * its memory; the public half is published, so any process can check any key, and rotation logs
 * nobody out.
 * @module
 */
import {
  createLocalJWKSet,
  errors,
  exportJWK,
  generateKeyPair,
  type JWK,
  jwtVerify,
  SignJWT,
} from "jose";
import type { Role, Scope } from "../actor.ts";
import { ROLES, SCOPES } from "../actor.ts";
import { DomainError } from "../errors.ts";
import { isId } from "../ids.ts";

/** Claims of a user key. */
export interface Claims {
  user: string;
  realm: string;
  /** The realm's login epoch of when it was given. */
  epoch: string;
  roles: Role[];
  scopes: Scope[];
  jti: string;
  /** Seconds since the epoch. */
  issuedAt: number;
  expiresAt: number;
  /** When the password was given, in seconds since the epoch. */
  authTime: number;
}

/** The key pair of this process. */
export interface SigningKey {
  kid: string;
  privateKey: CryptoKey;
  publicJwk: JWK;
}

const ALGORITHM = "EdDSA";

/** Makes a key pair whose private half cannot be exported. */
export async function createSigningKey(kid: string): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(ALGORITHM, { crv: "Ed25519" });
  const jwk = await exportJWK(publicKey);
  return { kid, privateKey, publicJwk: { ...jwk, kid, alg: ALGORITHM, use: "sig" } };
}

/** Signs a user key. */
export async function signUserKey(
  key: SigningKey,
  issuer: string,
  claims: Claims,
): Promise<string> {
  return await new SignJWT({
    realm: claims.realm,
    epoch: claims.epoch,
    roles: claims.roles.join(","),
    scopes: claims.scopes.join(","),
    auth_time: claims.authTime,
  }).setProtectedHeader({ alg: ALGORITHM, kid: key.kid })
    .setIssuer(issuer).setSubject(claims.user).setJti(claims.jti)
    .setIssuedAt(claims.issuedAt).setExpirationTime(claims.expiresAt)
    .sign(key.privateKey);
}

/**
 * Checks signature, algorithm, issuer, lifetime and form of a user key.
 *
 * @param publicKeys the published keys; given the key's id, so that an unknown one can be looked up
 * @throws {DomainError} auth.invalid, auth.expired
 */
export async function verifyUserKey(
  userKey: string,
  issuer: string,
  publicKeys: (kid: string) => Promise<JWK | null>,
): Promise<Claims> {
  try {
    const { payload } = await jwtVerify(userKey, async (header) => {
      const jwk = header.kid === undefined ? null : await publicKeys(header.kid);
      if (jwk === null) throw new errors.JWKSNoMatchingKey();
      return await createLocalJWKSet({ keys: [jwk] })(header);
    }, {
      algorithms: [ALGORITHM],
      issuer,
      requiredClaims: [
        "sub",
        "jti",
        "iat",
        "exp",
        "realm",
        "epoch",
        "roles",
        "scopes",
        "auth_time",
      ],
    });
    const claims: Claims = {
      user: String(payload.sub),
      realm: String(payload.realm),
      epoch: String(payload.epoch),
      roles: ROLES.filter((role) => String(payload.roles).split(",").includes(role)),
      scopes: SCOPES.filter((scope) => String(payload.scopes).split(",").includes(scope)),
      jti: String(payload.jti),
      issuedAt: payload.iat!,
      expiresAt: payload.exp!,
      authTime: Number(payload.auth_time),
    };
    if (
      ![claims.user, claims.realm, claims.jti].every(isId) || !Number.isSafeInteger(claims.authTime)
    ) throw new errors.JWTInvalid();
    return claims;
  } catch (error) {
    if (error instanceof errors.JWTExpired) {
      throw new DomainError("auth.expired", "the key has expired: log in again");
    }
    if (error instanceof errors.JOSEError) {
      throw new DomainError("auth.invalid", "the key is not one of ours");
    }
    throw error;
  }
}
