// Requests to delete users, newest first, with their jobs and tries.
import { get } from "./api.js";
import { chosen } from "./address.js";
import { element } from "./element.js";

const MOST = 50; // regulations on the page
const PILLS = { complete: "delivered", aborted: "dead", failed: "failed", pending: "pending" };

const who = (user) => user.userId ?? Object.entries(user).map(([name, value]) => `${name} ${value}`).join(", ");

function job({ destination, type, status, tries }) {
  const last = tries.at(-1), requests = tries.reduce((sum, one) => sum + one.requests.length + one.more, 0);
  const about = `${type} · ${tries.length} ${tries.length === 1 ? "try" : "tries"} · ${requests} ${requests === 1 ? "request" : "requests"}`;
  return element("p", [
    `${destination} `, element("span", status, { className: `pill ${PILLS[status]}` }), " ",
    element("span", last?.error ? `${about} · ${last.error}` : about, { className: "dim" }),
  ]);
}

function card(regulation) {
  const { users, at, jobs } = regulation;
  const names = users.slice(0, 5).map(who).join(", ") + (users.length > 5 ? ` and ${(users.length - 5).toLocaleString()} more` : "");
  return element("li", [element("h3", names), element("p", at, { className: "dim" }), ...jobs.map(job)]);
}

export async function showDeletions(place) {
  const run = chosen().run, { items } = await get(`inspect/regulations${run === undefined ? "" : `?run=${encodeURIComponent(run)}`}`);
  const shape = JSON.stringify(items.map((item) => [item.id, item.jobs.map(({ status, tries }) => [status, tries.length])]));
  if (place.dataset.shape === shape) return;
  place.dataset.shape = shape;
  const cards = items.reverse().slice(0, MOST).map(card);
  place.replaceChildren(element("h2", "Deletions"), cards.length ? element("ul", cards, { className: "cards" }) : element("p", "no users were deleted; POST to /v2/regulations"));
}
