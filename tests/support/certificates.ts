/** Certificates of an authority of the tests' own. @module */
import { ok } from "node:assert/strict";

/** A server's key and certificate (PEM). */
export interface Certificate {
  key: string;
  cert: string;
}

/** The authority (PEM), a certificate for `localhost`, and one for another host. */
export interface Certificates {
  ca: string;
  right: Certificate;
  other: Certificate;
}

/** Makes an authority and two certificates with `openssl`. */
export function makeCertificates(): Certificates {
  const cwd = Deno.makeTempDirSync();
  try {
    const text = (name: string) => Deno.readTextFileSync(`${cwd}/${name}`);
    const run = (line: string) => {
      const { success } = new Deno.Command("openssl", {
        args: line.split(" "),
        ...{ cwd, stdout: "null", stderr: "null" },
      }).outputSync();
      ok(success, `openssl ${line}`);
    };
    const fresh = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    run(`req -x509 ${fresh} -keyout ca.key -out ca.pem -days 2 -subj /CN=tests`);
    const issue = (name: string, names: string) => {
      Deno.writeTextFileSync(`${cwd}/${name}.ext`, `subjectAltName=${names}\n`);
      run(`req ${fresh} -keyout ${name}.key -out ${name}.csr -subj /CN=localhost`);
      run(
        `x509 -req -in ${name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 ` +
          `-out ${name}.pem -extfile ${name}.ext`,
      );
      return { key: text(`${name}.key`), cert: text(`${name}.pem`) };
    };
    const right = issue("right", "DNS:localhost");
    return { right, other: issue("other", "DNS:mail.example"), ca: text("ca.pem").trim() };
  } finally {
    Deno.removeSync(cwd, { recursive: true });
  }
}
