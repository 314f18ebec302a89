import { readFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { build, type Plugin } from 'esbuild';

/** Bundles the Worker into one ES module for workerd, by the conditions and rules of `wrangler deploy`. */
export async function bundleWorker(entry: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2024',
    platform: 'browser',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*'],
    plugins: [nodeBuiltins, assetsAsText],
    define: { 'process.env.NODE_ENV': '"production"' },
    keepNames: true,
    sourcemap: 'inline',
    // A stack names files and lines; the texts would double what workerd reads at each start.
    sourcesContent: false,
    logLevel: 'silent',
  });
  const [output] = outputFiles;
  if (!output) throw new Error(`esbuild wrote nothing for ${entry}`);
  return output.text;
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
