/* Files go up in pieces (tus): their bytes, pace and time left are shown; they can be paused, and go on where they
   stopped after a broken connection, a restarted portal or a reloaded page. Without scripts the form sends the file. */
"use strict";

(() => {
  const PIECE = 16 * 1024 ** 2;
  const RETRY_MS = [0, 1000, 2000, 4000, 8000, 15000, ...new Array(20).fill(20000)];
  const PACE_MS = 5000;
  const SILENCE_MS = 20000; // a connection that takes no byte for so long is dead, whatever the browser believes
  const PASSING = new Set([0, 409, 423, 500, 502, 503, 504]);
  const ADDRESS = "Slackwater-Address";
  const language = document.documentElement.lang;

  /* --- words ----------------------------------------------------------------------------------------------- */
  const sizeText = (octets) => {
    const units = ["B", "kB", "MB", "GB"];
    let value = octets;
    let unit = 0;
    while (value >= 1000 && unit < units.length - 1) {
      value /= 1000;
      unit += 1;
    }
    return `${value.toFixed(unit ? 1 : 0)} ${units[unit]}`;
  };

  const timeText = (seconds) => {
    const [value, unit] =
      seconds < 60 ? [seconds, "second"] : seconds < 3600 ? [seconds / 60, "minute"] : [seconds / 3600, "hour"];
    const format = { style: "unit", unit, unitDisplay: "short", maximumFractionDigits: 0 };
    return new Intl.NumberFormat(language, format).format(Math.max(1, Math.ceil(value)));
  };

  const filled = (text, facts) => text.replace(/\{(\w+)\}/g, (_, name) => facts[name]);

  /* --- how fast it goes, by the last seconds ------------------------------------------------------------------ */
  const newPace = () => {
    let seen = [];
    return {
      saw(bytes) {
        const now = performance.now();
        seen = [...seen.filter(([at]) => now - at < PACE_MS), [now, bytes]];
      },
      perSecond() {
        const [[firstAt, first], [lastAt, last]] = [seen[0], seen[seen.length - 1]];
        return lastAt - firstAt > 500 ? ((last - first) / (lastAt - firstAt)) * 1000 : 0;
      },
      forget() {
        seen = [];
      },
    };
  };

  /* --- what the portal says ------------------------------------------------------------------------------------ */
  const sentenceIn = (body) => {
    try {
      return JSON.parse(body).error.message;
    } catch {
      return ""; // not ours
    }
  };

  /* The token in the cookie is newer than the form's when somebody signed in again in another tab. */
  const tokenOf = (form) => {
    const kept = /(?:^|; )csrftoken=([^;]+)/.exec(document.cookie);
    return kept ? kept[1] : form.elements.csrfmiddlewaretoken.value;
  };

  const statusOf = (error) => (error.originalResponse ? error.originalResponse.getStatus() : 0);
  const isSignedOut = (error) => Boolean(error.causingError && error.causingError.isSignedOut);

  /* Before tus takes a signed-out person's upload for one that is gone, and begins another. */
  const refuseToForget = (_request, response) => {
    if (response.getStatus() === 401) throw Object.assign(new Error("signed out"), { isSignedOut: true });
  };

  const listenToDrops = (form, take) => {
    form.addEventListener("dragover", (event) => {
      event.preventDefault();
      form.classList.add("over");
    });
    form.addEventListener("dragleave", (event) => {
      if (!form.contains(event.relatedTarget)) form.classList.remove("over");
    });
    form.addEventListener("drop", (event) => {
      event.preventDefault();
      form.classList.remove("over");
      if (event.dataTransfer.files.length) take(event.dataTransfer.files[0]);
    });
  };

  const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

  /* --- one drop zone ----------------------------------------------------------------------------------------- */
  class DropZone {
    #form;
    #words;
    #owner;
    #pace = newPace();
    #upload = null;
    #state = "idle"; // going, held, or arrived: all is there, and its answer is not
    #isInterrupted = false;
    #movedAt = 0;

    constructor(form) {
      this.#form = form;
      this.#words = this.#part("sending").dataset;
      this.#owner = `slackwater-${this.#words.person}-${this.#words.corrects}`;
      this.#part("send").hidden = true;
      this.#part("choose").hidden = false;
      this.#listenToPeople();
      this.#listenToTheLine();
      this.#remind().catch(() => {});
    }

    #part(name) {
      return this.#form.querySelector(`[data-${name}]`);
    }

    get #input() {
      return this.#form.querySelector("input[type=file]");
    }

    /* --- what is seen --- */
    #say(text) {
      this.#part("said").textContent = text;
    }

    #show(state) {
      this.#state = state;
      this.#isInterrupted = false;
      this.#part("sending").hidden = state === "idle";
      this.#part("pause").hidden = state !== "going";
      this.#part("go-on").hidden = state !== "held";
      this.#forgetPace();
    }

    #forgetPace() {
      this.#part("pace-said").textContent = "";
      this.#pace.forget();
      this.#movedAt = performance.now();
    }

    #fail(text) {
      this.#forget().catch(() => {});
      this.#upload = null;
      this.#show("idle");
      this.#say("");
      this.#part("error").textContent = text;
      this.#input.value = "";
      this.#input.setAttribute("aria-invalid", String(Boolean(text)));
    }

    /* The portal keeps nothing of a file that it refused: neither is it asked for again. */
    async #forget() {
      if (!this.#upload) return;
      const storage = tus.defaultOptions.urlStorage;
      const kept = await this.#upload.findPreviousUploads();
      kept.forEach((one) => storage.removeUpload(one.urlStorageKey));
    }

    #hold(text) {
      this.#show("held");
      this.#say(text);
      this.#part("go-on").focus();
    }

    #interrupted() {
      this.#isInterrupted = true;
      this.#forgetPace();
      this.#say(this.#words.broken);
    }

    #progressed(sent, total) {
      this.#isInterrupted = false;
      this.#movedAt = performance.now();
      this.#part("progress").value = total ? (sent / total) * 100 : 0;
      this.#part("bytes").textContent = `${sizeText(sent)} / ${sizeText(total)}`;
      if (total && sent === total) {
        this.#show("arrived");
        this.#say(this.#words.looking);
      } else {
        this.#say("");
        this.#sayPace(sent, total);
      }
    }

    #sayPace(sent, total) {
      this.#pace.saw(sent);
      const rate = this.#pace.perSecond();
      const facts = { rate: sizeText(rate), time: rate && timeText((total - sent) / rate) };
      this.#part("pace-said").textContent = rate > 0 ? filled(this.#words.pace, facts) : "";
    }

    /* --- what is done --- */
    async #send(file) {
      if (this.#upload) this.#upload.abort();
      const upload = new tus.Upload(file, this.#options(file));
      this.#upload = upload;
      this.#part("error").textContent = "";
      this.#part("name").textContent = file.name;
      this.#input.removeAttribute("aria-invalid");
      this.#show("going");
      this.#progressed(0, file.size);
      const previous = await upload.findPreviousUploads();
      if (previous.length) upload.resumeFromPreviousUpload(previous[previous.length - 1]);
      upload.start();
    }

    #options(file) {
      const corrects = this.#words.corrects;
      return {
        endpoint: new URL(this.#words.endpoint, window.location.href).href,
        chunkSize: PIECE,
        retryDelays: RETRY_MS,
        removeFingerprintOnSuccess: true,
        fingerprint: () => Promise.resolve([this.#owner, file.name, file.size, file.lastModified].join("-")),
        metadata: { filename: file.name, ...(corrects ? { corrects } : {}) },
        headers: { Accept: "application/json" },
        onBeforeRequest: (request) => request.setHeader("X-CSRFToken", tokenOf(this.#form)),
        onAfterResponse: refuseToForget,
        onShouldRetry: (error) => this.#isPassing(error),
        onProgress: (sent, total) => this.#progressed(sent, total),
        onSuccess: ({ lastResponse }) => this.#arrived(lastResponse.getHeader(ADDRESS), file.size),
        onError: (error) => this.#stopped(error),
      };
    }

    #restart() {
      this.#upload.abort();
      this.#upload.start();
    }

    #isPassing(error) {
      const isPassing = PASSING.has(statusOf(error)) && !isSignedOut(error);
      if (isPassing) this.#interrupted();
      return isPassing;
    }

    /* What has arrived is kept whatever happens, unless the file itself is refused. */
    #stopped(error) {
      const status = statusOf(error);
      const sentence = error.originalResponse ? sentenceIn(error.originalResponse.getBody()) : "";
      if (isSignedOut(error)) this.#hold(this.#words.signedOut);
      else if (status === 403 && !sentence) this.#hold(this.#words.stale);
      else if (status === 0 || status >= 500) this.#hold(sentence || this.#words.failed);
      else this.#fail(sentence || this.#words.failed);
    }

    #arrived(next, size) {
      if (next) window.location.assign(next);
      else this.#ask(this.#upload.url, size);
    }

    /* All has arrived, but nobody heard what became of it: ask until somebody knows. */
    async #ask(address, size) {
      for (const ms of RETRY_MS) {
        await wait(ms);
        const answer = await this.#finish(address, size).catch(() => null);
        const next = answer && answer.headers.get(ADDRESS);
        if (next) return window.location.assign(next);
        const isAnswered = answer && !PASSING.has(answer.status);
        if (isAnswered) return this.#fail(sentenceIn(await answer.text()) || this.#words.failed);
      }
      return this.#hold(this.#words.failed);
    }

    #finish(address, size) {
      const headers = {
        "Tus-Resumable": "1.0.0",
        "Upload-Offset": String(size),
        "Content-Type": "application/offset+octet-stream",
        "X-CSRFToken": tokenOf(this.#form),
      };
      return fetch(address, { method: "PATCH", headers, body: "" });
    }

    /* What was left behind by a closed page is named, so that the same file is chosen again. */
    async #remind() {
      const storage = tus.defaultOptions.urlStorage;
      const kept = await storage.findAllUploads();
      const mine = kept.filter((one) => one.urlStorageKey.startsWith(`tus::${this.#owner}-`)).pop();
      if (!mine) return;
      const answer = await fetch(mine.uploadUrl, { method: "HEAD", headers: { "Tus-Resumable": "1.0.0" } });
      const bytes = Number(answer.headers.get("Upload-Offset"));
      const facts = { bytes: sizeText(bytes), name: mine.metadata.filename };
      if (!answer.ok || answer.headers.has(ADDRESS)) storage.removeUpload(mine.urlStorageKey);
      else if (bytes && !this.#upload) this.#say(filled(this.#words.unfinished, facts));
    }

    /* --- who is listened to --- */
    #listenToPeople() {
      this.#input.addEventListener("change", ({ target }) => target.files.length && this.#send(target.files[0]));
      this.#part("pause").addEventListener("click", () => {
        this.#upload.abort();
        this.#hold(this.#words.paused);
      });
      this.#part("go-on").addEventListener("click", () => {
        this.#show("going");
        this.#say("");
        this.#upload.start();
      });
      this.#part("stop").addEventListener("click", () => {
        this.#upload.abort(true).catch(() => {}); // what cannot be told now is swept after a day
        this.#fail("");
      });
      listenToDrops(this.#form, (file) => this.#send(file));
    }

    #listenToTheLine() {
      window.addEventListener("offline", () => {
        if (this.#state !== "going") return;
        this.#upload.abort();
        this.#interrupted();
      });
      window.addEventListener("online", () => {
        if (this.#isInterrupted) this.#restart();
      });
      setInterval(() => {
        const isSilent = performance.now() - this.#movedAt > SILENCE_MS;
        if (this.#state !== "going" || this.#isInterrupted || !isSilent) return;
        this.#interrupted();
        this.#restart();
      }, 1000);
    }
  }

  if (tus.isSupported) document.querySelectorAll("form[data-drop]").forEach((form) => new DropZone(form));
})();
