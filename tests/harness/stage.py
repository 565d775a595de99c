"""A view in a tab, without Jupyter: the real module and the real Python view, and a stand-in for the model
that anywidget would put between them."""

from __future__ import annotations

import json
from collections import deque
from typing import Any

from playwright.sync_api import Page, expect

from acp_notebook.views.bundle import live_stylesheet, module
from acp_notebook.views.widget import View

from .puppet import PageComm

DARK = """--jp-layout-color1:#111; --jp-layout-color2:#1c1f23; --jp-border-color2:#3a3f45;
--jp-ui-font-color1:rgba(255,255,255,.9); --jp-ui-font-color2:rgba(255,255,255,.62);
--jp-brand-color1:#42a5f5; --jp-success-color1:#66bb6a; --jp-warn-color1:#ffb74d; --jp-error-color1:#ef6c6c;
--jp-ui-inverse-font-color1:#08131d; color-scheme: dark;"""

# What anywidget gives a module: get, on, off, send. `deliver` is the test's side of it.
_MODEL = """
window.makeModel = (state) => {
  const ears = new Map();
  const emit = (name, ...values) => { for (const ear of [...(ears.get(name) ?? [])]) ear(...values); };
  return {
    get: (name) => state[name],
    on: (name, ear) => { ears.set(name, [...(ears.get(name) ?? []), ear]); },
    off: (name, ear) => { ears.set(name, (ears.get(name) ?? []).filter((e) => e !== ear)); },
    send: (content) => { window.sent.push(content); if (window.online) window.toKernel(content); },
    deliver: (message) => {
      if (message.method === "custom") emit("msg:custom", message.content, []);
      else if (message.method === "update") { Object.assign(state, message.state); emit("change:state"); }
    },
    emit,
  };
};
"""


class Stage:
    """One view's model in one tab. `online` False: messages from the page go nowhere, as without a kernel."""

    def __init__(self, tab: Page, view: View, *, dark: bool = False, online: bool = True) -> None:
        self.tab = tab
        self.view = view
        self.comm: PageComm = view.comm
        self._given = 0
        self.errors: list[str] = []
        tab.on("pageerror", lambda error: self.errors.append(str(error)))
        tab.on("dialog", lambda dialog: (self.errors.append("dialog"), dialog.dismiss()))
        tab.expose_function("toKernel", self.comm.receive)
        tab.expose_function("fromKernel", self._take)
        state = json.loads(json.dumps(view.get_state()))
        self._given = len(self.comm.sent)
        theme = DARK if dark else ""
        tab.set_content(
            f"<!doctype html><html lang=en><meta charset=utf-8><title>view</title>"
            f"<style>{live_stylesheet()}</style><style>"
            f"body {{ margin: 0; padding: 18px; {theme} background: var(--jp-layout-color1, #fff) }}"
            "</style><main id=one></main>"
        )
        tab.evaluate(_MODEL)
        tab.evaluate(
            """async ([source, state, online]) => {
              window.sent = [];
              window.online = online;
              const url = URL.createObjectURL(new Blob([source], {type: "text/javascript"}));
              window.view = (await import(url)).default;
              window.model = makeModel(state);
              window.show = (id) => view.render({model, el: document.getElementById(id)});
              window.leave = show("one");
              const pump = async () => {
                for (const message of await fromKernel()) model.deliver(message);
                setTimeout(pump, 5);
              };
              pump();
            }""",
            [module(), state, online],
        )
        if online:  # until the kernel has answered there is no control to see, and none takes the focus
            expect(tab.locator(".acp-offline")).to_have_count(0)

    def _take(self) -> list[dict[str, Any]]:
        """What the view has sent since the last time."""
        sent = self.comm.sent[self._given :]
        self._given += len(sent)
        return json.loads(json.dumps(sent))

    @property
    def sent(self) -> deque[dict[str, Any]]:
        """What the page sent."""
        return deque(self.tab.evaluate("window.sent"))
