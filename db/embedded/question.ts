/**
 * Asks the server on a port of this machine for its folder, as a process of its own: the process that starts
 * PostgreSQL need not load a driver. Reads `{"port", "password"}` from standard input and prints
 * `folder <path>`, `busy`, or `stranger`.
 *
 * @module
 */
import postgres from "postgres";

interface Question {
  port: number;
  password: string;
}

async function answer({ port, password }: Question): Promise<string> {
  const sql = postgres({
    host: "127.0.0.1",
    port,
    user: "postgres",
    password,
    database: "postgres",
    max: 1,
    connect_timeout: 5,
  });
  try {
    const [{ folder }] = await sql`select current_setting('data_directory') as folder`;
    return `folder ${folder}`;
  } catch (error) {
    // cannot_connect_now: a server that starts, recovers or shuts down. Any other error proves nothing.
    return (error as { code?: string }).code === "57P03" ? "busy" : "stranger";
  } finally {
    await sql.end({ timeout: 0 });
  }
}

async function main(): Promise<void> {
  const text = await answer(await new Response(Deno.stdin.readable).json());
  Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
}

if (import.meta.main) {
  main().catch((error) => {
    Deno.stderr.writeSync(new TextEncoder().encode(`${error}\n`));
    Deno.exit(1);
  });
}
