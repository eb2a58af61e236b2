"use strict";
// The filters of the page. Without this script, the page shows every change.
(() => {
  const tools = document.getElementById("tools");
  const query = document.getElementById("query");
  const status = document.getElementById("status");
  const changes = [...document.querySelectorAll("article.change")];
  const total = changes.reduce((sum, change) => sum + size(change), 0);
  const texts = new Map();
  const shown = new Intl.NumberFormat("en");

  function members(change) {
    return [...change.querySelectorAll(":scope > details > ol.members > li")];
  }

  function size(change) {
    return Math.max(1, change.querySelectorAll(":scope > details > ol.members > li").length);
  }

  // Texts are collected when the first search starts.
  function text(element) {
    let found = texts.get(element);
    if (found === undefined) {
      found = element.textContent.toLowerCase();
      texts.set(element, found);
    }
    return found;
  }

  function checked(name) {
    return new Set([...tools.querySelectorAll(`input[name=${name}]:checked`)].map((input) => input.value));
  }

  // Hides attributes, and returns whether the change has attributes and all of them are hidden.
  function hideAttributes(change, hidden) {
    const attributes = change.querySelectorAll("li[data-a]");
    let left = attributes.length;
    for (const attribute of attributes) {
      attribute.hidden = hidden.has(attribute.dataset.a);
      left -= attribute.hidden ? 1 : 0;
    }
    return attributes.length > 0 && left === 0;
  }

  let hiddenBefore = 0;

  function apply() {
    const kinds = checked("kind");
    const hidden = checked("attribute");
    const words = query.value.toLowerCase().trim();
    const updatesAttributes = hidden.size > 0 || hiddenBefore > 0;
    hiddenBefore = hidden.size;
    let count = 0;
    for (const change of changes) {
      let visible = kinds.has(change.dataset.kind);
      if (updatesAttributes && hideAttributes(change, hidden)) {
        // A change that destroys an object is never hidden by its attributes.
        visible = visible && ["destroy", "replace"].includes(change.dataset.kind);
      }
      let matching = size(change);
      if (visible && words !== "") {
        matching = text(change).includes(words) ? matching : 0;
        const list = members(change);
        if (matching > 0 && list.length > 0) {
          const matches = list.filter((member) => text(member).includes(words));
          // If no member matches, the words are in the part that all members share.
          const keep = new Set(matches.length > 0 ? matches : list);
          list.forEach((member) => { member.hidden = !keep.has(member); });
          matching = keep.size;
        }
      } else if (visible) {
        members(change).forEach((member) => { member.hidden = false; });
      }
      change.hidden = !visible || matching === 0;
      count += change.hidden ? 0 : matching;
    }
    for (const heading of document.querySelectorAll("section > h3[class]")) {
      let next = heading.nextElementSibling;
      while (next && next.matches("article.change") && next.hidden) {
        next = next.nextElementSibling;
      }
      heading.hidden = !(next && next.matches("article.change"));
    }
    status.textContent = `${shown.format(count)} of ${shown.format(total)} changes`;
  }

  function openTarget() {
    const target = document.getElementById(location.hash.slice(1));
    for (let element = target; element; element = element.parentElement) {
      element.hidden = false;
      if (element.tagName === "DETAILS") {
        element.open = true;
      }
    }
    const own = target && target.querySelector(":scope > details");
    if (own) {
      own.open = true;
      own.querySelector("summary").focus({ preventScroll: true });
    }
    if (target) {
      target.scrollIntoView({ block: "start" });
    }
  }

  tools.addEventListener("input", apply);
  tools.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", openTarget);
  addEventListener("keydown", (event) => {
    const typing = event.target.matches("input[type=search]");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      query.focus();
    } else if (event.key === "Escape" && typing) {
      query.value = "";
      apply();
    }
  });
  tools.hidden = false;
  apply();
  if (location.hash.length > 1) {
    openTarget();
  }
})();
