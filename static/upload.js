/* Files go up in pieces (tus): their bytes, pace and time left are shown; they can be paused, and go on where they
   stopped after a broken connection, a restarted portal or a reloaded page. Without scripts the form sends the file. */
"use strict";

(() => {
  const PIECE = 16 * 1024 ** 2;
  const RETRY_MS = [0, 1000, 2000, 4000, 8000, 15000, ...new Array(20).fill(20000)];
  const PACE_MS = 5000;
  const SILENCE_MS = 20000; // a connection that takes no byte for so long is dead, whatever the browser believes
  const PATCH = "application/offset+octet-stream";
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

  const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

  /* --- one drop zone ----------------------------------------------------------------------------------------- */
  const setUpDrop = (form) => {
    const part = (name) => form.querySelector(`[data-${name}]`);
    const input = form.querySelector("input[type=file]");
    const sending = part("sending");
    const words = sending.dataset;
    const endpoint = new URL(words.endpoint, window.location.href).href;
    const owner = `slackwater-${words.person}-${words.corrects}`;
    const pace = newPace();
    let upload = null;
    let isGoing = false;
    let isInterrupted = false;
    let movedAt = 0;

    const say = (text) => {
      part("said").textContent = text;
    };

    const show = (state) => {
      isGoing = state === "going";
      isInterrupted = false;
      sending.hidden = state === "idle";
      part("pause").hidden = state !== "going";
      part("go-on").hidden = state !== "held";
      forgetPace();
    };

    const forgetPace = () => {
      part("pace-said").textContent = "";
      pace.forget();
      movedAt = performance.now();
    };

    const interrupted = () => {
      isInterrupted = true;
      forgetPace();
      say(words.broken);
    };

    const restart = () => {
      upload.abort();
      upload.start();
    };

    const fail = (text) => {
      upload = null;
      show("idle");
      say("");
      part("error").textContent = text;
      input.value = "";
      input.setAttribute("aria-invalid", String(Boolean(text)));
    };

    const hold = (text) => {
      show("held");
      say(text);
      part("go-on").focus();
    };

    const progressed = (sent, total) => {
      isInterrupted = false;
      movedAt = performance.now();
      part("progress").value = total ? (sent / total) * 100 : 0;
      part("bytes").textContent = `${sizeText(sent)} / ${sizeText(total)}`;
      pace.saw(sent);
      const rate = pace.perSecond();
      const isThere = sent === total;
      part("pace-said").textContent =
        rate > 0 && !isThere
          ? filled(words.pace, { rate: sizeText(rate), time: timeText((total - sent) / rate) })
          : "";
      say(isThere ? words.looking : "");
      part("pause").hidden = isThere;
      if (isThere) isGoing = false;
    };

    /* All has arrived, but nobody heard what became of it: ask until somebody knows. */
    const finish = async (address, size) => {
      const headers = { "Tus-Resumable": "1.0.0", "Upload-Offset": String(size), "Content-Type": PATCH };
      for (const ms of RETRY_MS) {
        await wait(ms);
        const sent = { method: "PATCH", headers: { ...headers, "X-CSRFToken": tokenOf(form) }, body: "" };
        const answer = await fetch(address, sent).catch(() => null);
        const next = answer && answer.headers.get(ADDRESS);
        if (next) return window.location.assign(next);
        if (answer && answer.status < 500 && answer.status !== 423) {
          return fail(sentenceIn(await answer.text()) || words.failed);
        }
      }
      return hold(words.failed);
    };

    const succeeded = ({ lastResponse }) => {
      const next = lastResponse.getHeader(ADDRESS);
      if (next) window.location.assign(next);
      else finish(upload.url, upload.file.size);
    };

    /* What has arrived is kept whatever happens, unless the file itself is refused. */
    const failed = (error) => {
      const status = error.originalResponse ? error.originalResponse.getStatus() : 0;
      const sentence = error.originalResponse ? sentenceIn(error.originalResponse.getBody()) : "";
      if (error.causingError && error.causingError.isSignedOut) hold(words.signedOut);
      else if (status === 403 && !sentence) hold(words.stale);
      else if (status === 0 || status >= 500) hold(sentence || words.failed);
      else fail(sentence || words.failed);
    };

    const shouldRetry = (error) => {
      const status = error.originalResponse ? error.originalResponse.getStatus() : 0;
      const isSignedOut = Boolean(error.causingError && error.causingError.isSignedOut);
      const isPassing = [0, 409, 423, 500, 502, 503, 504].includes(status) && !isSignedOut;
      if (isPassing) interrupted();
      return isPassing;
    };

    /* Before tus takes it for an upload that is gone, and begins another one. */
    const heard = (_request, response) => {
      if (response.getStatus() === 401) throw Object.assign(new Error("signed out"), { isSignedOut: true });
    };

    const options = (file) => ({
      endpoint,
      chunkSize: PIECE,
      retryDelays: RETRY_MS,
      removeFingerprintOnSuccess: true,
      fingerprint: () => Promise.resolve([owner, file.name, file.size, file.lastModified].join("-")),
      metadata: { filename: file.name, ...(words.corrects ? { corrects: words.corrects } : {}) },
      headers: { Accept: "application/json" },
      onBeforeRequest: (request) => request.setHeader("X-CSRFToken", tokenOf(form)),
      onAfterResponse: heard,
      onShouldRetry: shouldRetry,
      onProgress: progressed,
      onSuccess: succeeded,
      onError: failed,
    });

    const send = async (file) => {
      if (upload) upload.abort();
      upload = new tus.Upload(file, options(file));
      part("error").textContent = "";
      part("name").textContent = file.name;
      input.removeAttribute("aria-invalid");
      progressed(0, file.size);
      show("going");
      say("");
      const previous = await upload.findPreviousUploads();
      if (previous.length) upload.resumeFromPreviousUpload(previous[previous.length - 1]);
      upload.start();
    };

    const goOn = () => {
      show("going");
      say("");
      upload.start();
    };

    /* What was left behind by a closed page: named, so that the same file is chosen again. */
    const remind = async () => {
      const kept = await tus.defaultOptions.urlStorage.findAllUploads();
      const mine = kept.filter((one) => one.urlStorageKey.startsWith(`tus::${owner}-`)).pop();
      if (!mine) return;
      const answer = await fetch(mine.uploadUrl, { method: "HEAD", headers: { "Tus-Resumable": "1.0.0" } });
      const bytes = Number(answer.headers.get("Upload-Offset"));
      if (!answer.ok || answer.headers.has(ADDRESS)) tus.defaultOptions.urlStorage.removeUpload(mine.urlStorageKey);
      else if (bytes && !upload) say(filled(words.unfinished, { bytes: sizeText(bytes), name: mine.metadata.filename }));
    };

    part("send").hidden = true;
    part("choose").hidden = false;
    remind().catch(() => {});
    input.addEventListener("change", () => input.files.length && send(input.files[0]));
    part("pause").addEventListener("click", () => {
      upload.abort();
      hold(words.paused);
    });
    part("go-on").addEventListener("click", goOn);
    part("stop").addEventListener("click", () => {
      upload.abort(true).catch(() => {}); // what cannot be told now is swept after a day
      fail("");
    });
    window.addEventListener("offline", () => {
      if (!isGoing) return;
      upload.abort();
      interrupted();
    });
    window.addEventListener("online", () => {
      if (isInterrupted) restart();
    });
    setInterval(() => {
      if (!isGoing || isInterrupted || performance.now() - movedAt < SILENCE_MS) return;
      interrupted();
      restart();
    }, 1000);
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
      if (event.dataTransfer.files.length) send(event.dataTransfer.files[0]);
    });
  };

  if (tus.isSupported) document.querySelectorAll("form[data-drop]").forEach(setUpDrop);
})();
