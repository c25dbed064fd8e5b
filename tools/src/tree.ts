// The source files of a checkout: everything written by hand, nothing installed, generated or left behind by a run.

import { readdir, readFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";

/** A file's path, relative to the root with forward slashes, and its text. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

const SOURCE = /\.(ts|mts|cts|tsx|js|mjs|cjs)$/;
const SKIPPED_FOLDERS = new Set(["node_modules"]);
const GENERATED_FOLDER = "proto/gen";

/** Every source file below `root`, sorted by path. Folders whose name begins with a dot hold none. */
export async function sourceFiles(root: string): Promise<readonly SourceFile[]> {
  const paths = await pathsBelow(root, root);
  const sources = paths.filter((path) => SOURCE.test(path)).sort();
  return Promise.all(sources.map(async (path) => ({ path, text: await readFile(join(root, path), "utf8") })));
}

async function pathsBelow(root: string, folder: string): Promise<readonly string[]> {
  const paths: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const full = join(folder, entry.name);
    const path = relative(root, full).split(sep).join("/");
    if (entry.isFile()) paths.push(path);
    if (entry.isDirectory() && !isSkipped(entry.name, path)) paths.push(...(await pathsBelow(root, full)));
  }
  return paths;
}

function isSkipped(name: string, path: string): boolean {
  return name.startsWith(".") || SKIPPED_FOLDERS.has(name) || path === GENERATED_FOLDER;
}
