// Search without a server. A page that is opened as a file may not start a worker, so the script of the search runs in a
// hidden frame of the page instead, which receives and returns the same messages.
class FrameWorker extends EventTarget {
  constructor(address) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    frame.title = "Search";
    document.body.append(frame);
    const inside = frame.contentWindow;
    const page = frame.contentDocument;
    page.open();
    page.write("<!doctype html><title>Search</title>");
    page.close();
    inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
    inside.importScripts = (...addresses) =>
      addresses.reduce((before, one) => before.then(() => FrameWorker.load(page, one)), Promise.resolve());
    this.frame = frame;
    this.ready = FrameWorker.load(page, address);
  }

  static load(page, address) {
    return new Promise((done, failed) => {
      const script = page.createElement("script");
      script.src = address;
      script.onload = done;
      script.onerror = failed;
      page.head.append(script);
    });
  }

  postMessage(data) {
    const inside = this.frame.contentWindow;
    this.ready.then(() => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
  }

  terminate() {
    this.frame.remove();
  }
}

if (location.protocol === "file:") {
  window.Worker = FrameWorker;
}
