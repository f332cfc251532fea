// What JupyterLab lacks for the index: it loads no file again that has changed on disk, and a link to a cell lands beside
// it, because a notebook is laid out bit by bit after it has opened.
// This file needs no build: it is what a bundler would make, a container of webpack's module federation.

const LOOKS_EVERY_MS = 2000;
const LANDS_EVERY_MS = 200;
const LANDS_FOR_MS = 15000;
const SETTLED = 8; // times at one place

const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const opened = (app, path) => [...app.shell.widgets("main")].filter((widget) => widget.context?.path === path);

async function showAnew(app) {
  const pages = opened(app, "index.md");
  if (!pages.length) return;
  const { last_modified } = await app.serviceManager.contents.get("index.md", { content: false });
  for (const { context } of pages) {
    if (context.isReady && !context.model.dirty && context.contentsModel.last_modified !== last_modified) {
      await context.revert();
    }
  }
}

async function land(app, path, id) {
  let isOver = false;
  const events = ["wheel", "keydown", "pointerdown"]; // from here on, the student decides what is in view
  const end = () => (isOver = true);
  events.forEach((name) => document.addEventListener(name, end, { capture: true }));
  for (let ms = 0, same = 0, before; ms < LANDS_FOR_MS && same < SETTLED && !isOver; ms += LANDS_EVERY_MS) {
    await pause(LANDS_EVERY_MS);
    const notebook = opened(app, path)[0]?.content;
    const cell = notebook?.widgets?.find((one) => one.model.id === id);
    if (!cell || isOver) continue;
    notebook.activeCellIndex = notebook.widgets.indexOf(cell);
    await notebook.scrollToItem(notebook.activeCellIndex, "start");
    cell.node.scrollIntoView();
    const { top } = cell.node.getBoundingClientRect();
    same = top === before ? same + 1 : 0;
    before = top;
  }
  events.forEach((name) => document.removeEventListener(name, end, { capture: true }));
}

const plugin = {
  id: "jaxguide:index-page",
  autoStart: true,
  activate: (app) => {
    const look = () => pause(LOOKS_EVERY_MS).then(() => showAnew(app)).catch(() => {}).finally(look);
    look();
    document.addEventListener("click", (event) => {
      const link = event.target.closest?.("a[href*='#cell-id=']");
      const found = link && /\/files\/([^?#]+).*#cell-id=(.+)$/.exec(link.href);
      if (found) land(app, decodeURIComponent(found[1]), found[2]).catch(console.error);
    });
  },
};

(window._JUPYTERLAB ??= {}).jaxguide = {
  init: () => {},
  get: async () => () => ({ __esModule: true, default: plugin }),
};
