import { readFile } from 'node:fs/promises';
import { isBuiltin, SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, build, type Plugin } from 'esbuild';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Bundles the Worker into one ES module for workerd, by the conditions and rules of `wrangler deploy`. */
export async function bundleWorker(entry: string): Promise<string> {
  return (await bundle(entry)).code;
}

/** From places in a bundle to those in its sources, by paths from the root; null when these have changed since. */
export async function mapOfBundle(entry: string, bundled: string): Promise<SourceMap | null> {
  const { code, map } = await bundle(entry, { sourcemap: 'external' });
  return code === bundled ? new SourceMap(JSON.parse(map)) : null;
}

async function bundle(entry: string, options: BuildOptions = {}): Promise<{ code: string; map: string }> {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    outfile: `${ROOT}worker.js`,
    write: false,
    format: 'esm',
    target: 'es2024',
    platform: 'browser',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*'],
    plugins: [nodeBuiltins, assetsAsText],
    define: { 'process.env.NODE_ENV': '"production"' },
    keepNames: true,
    // A start copies the bundle many times, so its size counts for more than the work of making it.
    minifyWhitespace: true,
    sourcesContent: false,
    logLevel: 'silent',
    ...options,
  });
  const textOf = (end: string) => outputFiles?.find(({ path }) => path.endsWith(end))?.text ?? '';
  return { code: textOf('.js'), map: textOf('.map') };
}

// The rules of wrangler.toml.
const assetsAsText: Plugin = {
  name: 'assets-as-text',
  setup({ onLoad }) {
    const filter =
      /[\\/](?:dashboard[\\/](?:client[\\/][^\\/]+\.js|[^\\/]+\.(?:css|svg))|browser[\\/]dist[\\/]bundle[\\/][^\\/]+\.js)$/;
    onLoad({ filter }, async ({ path }) => ({ contents: await readFile(path, 'utf8'), loader: 'text' }));
  },
};

// workerd has Node's modules under their node: names only, and to import, not to require.
const nodeBuiltins: Plugin = {
  name: 'node-builtins',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^[^./]/ }, ({ path, kind }) => {
      if (!isBuiltin(path)) return;
      const name = path.startsWith('node:') ? path : `node:${path}`;
      if (kind === 'require-call') return { path: name, namespace: 'required-builtin' };
      return { path: name, external: true };
    });
    onLoad({ filter: /.*/, namespace: 'required-builtin' }, ({ path }) => ({
      contents: `import builtin from '${path}';\nmodule.exports = builtin;`,
      loader: 'js',
    }));
  },
};
