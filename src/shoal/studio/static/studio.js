// Shoal Studio: keys, focus, upload, copying. Everything else is done by the server and htmx.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const notices = () => byId("notices");
  const say = (text) => {
    const box = document.createElement("div");
    box.className = "notice";
    const line = document.createElement("p");
    line.textContent = text;
    box.append(line);
    notices().replaceChildren(box);
  };
  const text = (name) => document.querySelector(`#texts [data-text="${name}"]`).textContent;
  const token = () => JSON.parse(document.body.getAttribute("hx-headers"))["X-Shoal-Token"];
  const stored = (name, value) => {
    try {
      if (value !== undefined) localStorage.setItem(name, value);
      return localStorage.getItem(name);
    } catch { return null; }
  };

  // A page that waits for the worker loads itself again.
  const waiting = document.querySelector("[data-reload]");
  if (waiting) setTimeout(() => location.reload(), Number(waiting.dataset.reload));

  // Steps that are not possible yet say why.
  const explain = (event) => {
    const step = event.target.closest("[aria-disabled][data-reason]");
    if (!step || (event.type === "keydown" && event.key !== "Enter")) return;
    event.preventDefault();
    say(step.dataset.reason);
  };
  document.addEventListener("click", explain);
  document.addEventListener("keydown", explain);

  document.addEventListener("click", (event) => {
    const chosen = event.target.closest("[data-path]");
    if (chosen && byId("path")) byId("path").value = chosen.dataset.path;
    const copy = event.target.closest("[data-copy]");
    if (copy) {
      navigator.clipboard.writeText(byId(copy.dataset.copy).textContent)
        .then(() => { copy.textContent = text("copied"); }, () => say(text("no-copy")));
    }
    const step = event.target.closest("[data-step]");
    if (step) {
      const field = byId("k");
      field.value = Math.max(2, Number(field.value) + Number(step.dataset.step));
      field.dispatchEvent(new Event("change", { bubbles: true }));
    }
    const close = event.target.closest("[data-close]");
    if (close) closePanel(close.dataset.close);
    for (const menu of document.querySelectorAll(".menu[open]")) if (!menu.contains(event.target)) menu.open = false;
  });
  document.addEventListener("input", (event) => {
    if (event.target.dataset.for) byId(event.target.dataset.for).value = event.target.value;
    if (event.target.id === "show-values") byId("peek-table").classList.toggle("hide-values", !event.target.checked);
    if (event.target.name === "theme") {
      if (event.target.value) document.documentElement.dataset.theme = event.target.value;
      else delete document.documentElement.dataset.theme;
    }
    if (event.target.id === "keys-on") stored("shoal-keys", event.target.checked ? "on" : "off");
  });

  // The panel of a column takes the focus when it opens, and returns it when it closes.
  const closePanel = (index) => {
    const hint = document.createElement("p");
    hint.className = "hint";
    hint.textContent = text("choose");
    byId("side").replaceChildren(hint);
    const row = byId(`open-${index}`);
    if (row) row.focus();
  };
  // The order of categories: dragged, or moved by buttons and by Alt with an arrow; the focus follows what was moved.
  let follow = "";
  let dragged = null;
  document.addEventListener("click", (event) => {
    const mover = event.target.closest("[data-follow]");
    if (mover) follow = mover.dataset.follow;
  });
  document.addEventListener("dragstart", (event) => {
    dragged = event.target.closest("[data-place]");
    if (dragged) event.dataTransfer.effectAllowed = "move";
  });
  document.addEventListener("dragover", (event) => {
    const place = event.target.closest("[data-place]");
    for (const other of document.querySelectorAll(".order .over")) if (other !== place) other.classList.remove("over");
    if (!dragged || !place) return;
    event.preventDefault();
    place.classList.add("over");
  });
  document.addEventListener("drop", (event) => {
    const place = event.target.closest("[data-place]");
    if (!dragged || !place) return;
    event.preventDefault();
    const values = { move: `${dragged.dataset.place} ${place.dataset.place}` };
    window.htmx.ajax("POST", place.parentElement.dataset.order, { source: place.parentElement, target: "#side", values });
  });
  document.addEventListener("dragend", () => { dragged = null; });
  document.addEventListener("keydown", (event) => {
    if (!event.altKey || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
    const item = event.target.closest("[data-place]");
    if (!item) return;
    event.preventDefault();
    byId(`${event.key === "ArrowUp" ? "up" : "down"}-${item.dataset.place}`).click();
  });
  document.addEventListener("htmx:afterSettle", () => {
    if (follow && byId(follow)) byId(follow).focus();
    follow = "";
  });

  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target.id === "side" && event.detail.requestConfig.verb === "get") {
      const head = byId("panel-head");
      if (head) head.focus();
    }
    if (event.detail.target.id !== "notices" && event.detail.requestConfig.verb !== "get") notices().replaceChildren();
  });

  // Uploads are streamed as they are; the name travels in a header.
  const send = (file) => {
    const request = new XMLHttpRequest();
    const bar = byId("upload-progress");
    bar.hidden = false;
    request.upload.addEventListener("progress", (event) => { bar.value = event.loaded / Math.max(1, event.total); });
    request.addEventListener("load", () => {
      bar.hidden = true;
      const answer = new DOMParser().parseFromString(request.responseText, "text/html");
      const peek = answer.getElementById("peek");
      if (peek) {
        byId("peek").replaceWith(peek);
        window.htmx.process(peek);
      } else say(answer.body.textContent.trim());
    });
    request.addEventListener("error", () => { bar.hidden = true; say(text("interrupted")); });
    request.open("POST", "/upload");
    request.setRequestHeader("X-Shoal-Token", token());
    request.setRequestHeader("X-File-Name", encodeURIComponent(file.name));
    request.send(file);
  };
  const upload = byId("upload");
  if (upload) {
    upload.addEventListener("change", () => { if (upload.files.length) send(upload.files[0]); });
    const drop = byId("drop");
    for (const name of ["dragover", "dragleave", "drop"]) {
      drop.addEventListener(name, (event) => {
        event.preventDefault();
        drop.classList.toggle("over", name === "dragover");
        if (name === "drop" && event.dataTransfer.files.length) send(event.dataTransfer.files[0]);
      });
    }
  }

  // Keys. Single letters do nothing inside fields, and can be switched off.
  const pages = { 1: "/open", 2: "/columns", 3: "/protect", 4: "/run", 5: "/look", 6: "/out", c: "/compare", h: "/history" };
  let going = 0;
  const letters = byId("keys-on");
  if (letters && stored("shoal-keys") === "off") letters.checked = false;
  document.addEventListener("keydown", (event) => {
    const field = event.target.closest("input:not([type=radio]):not([type=checkbox]):not([type=range]), select, textarea");
    if (event.key === "Escape") {
      for (const menu of document.querySelectorAll(".menu[open]")) menu.open = false;
      const close = byId("panel-close");
      if (close) close.click();
      return;
    }
    if (field) return;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z") {
      event.preventDefault();
      byId(event.shiftKey ? "redo" : "undo").click();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || !letters || !letters.checked) return;
    if (Date.now() - going < 1500 && pages[event.key]) {
      going = 0;
      location.assign(pages[event.key]);
    } else if (event.key === "g") going = Date.now();
    else if (event.key === "/" && byId("find")) { event.preventDefault(); byId("find").focus(); }
    else if (event.key === "[" && byId("panel-before")) byId("panel-before").click();
    else if (event.key === "]" && byId("panel-after")) byId("panel-after").click();
    else if (event.key === "?") { const menu = document.querySelector(".menu"); menu.open = true; menu.querySelector("summary").focus(); }
  });
})();
