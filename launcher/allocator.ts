/**
 * The allocator of the service's native memory: one of the system's libraries where it has one, otherwise
 * the C library's own, with limits. A request makes some eighty small allocations below JavaScript, which
 * take the C library an eighth of the service's processor time and these libraries a fraction of that
 * (docs/internals/performance.md).
 *
 * @module
 */

/** Folders of the system's own libraries. */
const FOLDERS = [`/usr/lib/${Deno.build.arch}-linux-gnu`, "/usr/lib64", "/usr/lib"];
/** By the names that distributions give them, the quickest first. */
const LIBRARIES = ["libjemalloc.so.2", "libmimalloc.so.2.0", "libmimalloc.so.2"];

/**
 * Settings of the C library's memory, where it is glibc: buffers of 128 KiB and more are always given back to the
 * system. By itself it keeps more and more of them once large requests came, in a heap that never shrinks again.
 */
const LIMITS = {
  MALLOC_MMAP_THRESHOLD_: `${128 * 1024}`,
  MALLOC_TRIM_THRESHOLD_: `${8 * 1024 * 1024}`,
};

/**
 * Variables by which a process takes its allocator. `LD_PRELOAD` in the environment is the operator's own
 * choice; empty, it is the C library's.
 */
export async function allocatorOf(
  environment: Readonly<Record<string, string>>,
  folders: readonly string[] = FOLDERS,
): Promise<Record<string, string>> {
  const library = environment.LD_PRELOAD ?? await findLibrary(folders);
  return library === null ? LIMITS : { ...LIMITS, LD_PRELOAD: library };
}

async function findLibrary(folders: readonly string[]): Promise<string | null> {
  if (Deno.build.os !== "linux") return null;
  for (const name of LIBRARIES) {
    for (const folder of folders) {
      if (await isSystemFile(`${folder}/${name}`)) return `${folder}/${name}`;
    }
  }
  return null;
}

/** Whether a path leads to a file of the superuser that nobody else may write to: its code runs beside the keys. */
async function isSystemFile(path: string): Promise<boolean> {
  try {
    const { isFile, uid, mode } = await Deno.stat(path);
    return isFile && uid === 0 && mode !== null && (mode & 0o022) === 0;
  } catch (error) {
    if (
      error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory ||
      error instanceof Deno.errors.PermissionDenied
    ) return false;
    throw error;
  }
}
