"""`ServiceClient.diagnose`: a readable report of what a client does, and why it does not send."""

from __future__ import annotations

import time

from svctoolkit.sdk.base.settings import MEMORY, Settings
from svctoolkit.sdk.runtime import Runtime


def diagnosis(settings: Settings, runtime: Runtime) -> str:
    """Return the report: lines of name and value, then advice for each problem that prevents delivery."""
    engine, stats = runtime.engine, runtime.stats()
    lines = {"client": "initialized" if engine else "not initialized"}
    advice = []
    if not settings.enabled:
        lines["client"] = "switched off by enabled=False or SVCTOOLKIT_DISABLED; calls do nothing"
        advice.append("To record events, remove enabled=False and unset SVCTOOLKIT_DISABLED.")
    elif engine is None:
        advice.append("Call initialize(WRITE_KEY, ...): until then calls are kept in memory, at most 1000.")
    if engine is not None:
        dispatcher, path = engine.dispatcher, engine.database.path
        lines |= {"data": "in memory" if path == MEMORY else path, "data plane": dispatcher.url}
        lines["source configuration"] = dispatcher.config_answer or "not requested yet"
        lines["last answer"] = dispatcher.last_answer or "none yet"
        lines["tracking"] = "opted out: nothing is recorded" if engine.recorder.opted_out else "on"
        pause = dispatcher.pause
        if pause.blocks:
            lines["paused"] = f"{pause.text}; next check in {pause.remaining:.0f} s"
        if dispatcher.wait():
            lines["next attempt"] = f"in {dispatcher.wait():.0f} s"
        advice += _advice(settings, engine.recorder.opted_out, path)
        if engine.queue.elsewhere:
            lines["under other write keys"] = f"{engine.queue.elsewhere} event(s) wait"
            advice.append("To send the events under another write key: initialize(key, {'adopt': [other key]}).")
    counts = (
        "recorded",
        "carried",
        "delivered",
        "waiting",
        "in_memory",
        "parked",
        "retried",
        "missed",
        "refused_fields",
    )
    lines["events"] = ", ".join(f"{getattr(stats, name)} {name.replace('_', ' ')}" for name in counts)
    lines["dropped"] = ", ".join(f"{number} {reason}" for reason, number in stats.dropped.items()) or "none"
    lines["last error"] = stats.last_error or "none"
    advice += _advice_for(stats.paused, stats.parked, stats.waiting, settings)
    width = max(map(len, lines))
    page = [f"svctoolkit.sdk, {time.strftime('%Y-%m-%d %H:%M:%S')}"]
    page += [f"{name:{width}}  {text}" for name, text in lines.items()]
    return "\n".join([*page, *(f"-> {text}" for text in advice)])


def _advice(settings: Settings, opted_out: bool, path: str) -> list[str]:
    advice = []
    if opted_out:
        advice.append("To record again: optOut(False).")
    if path == MEMORY and settings.data_directory != MEMORY:
        advice.append("Events are lost if the process is killed: set application_name or data_directory.")
    return advice


def _advice_for(paused: str, parked: int, waiting: int, settings: Settings) -> list[str]:
    advice = []
    if "write key" in paused:
        advice.append("Compare the write key with the source's Setup tab; initialize again with the right one.")
    elif paused:
        advice.append("Enable the source in the dashboard; the client detects that automatically.")
    if parked:
        advice.append("frame() shows why events are parked; retry_parked() sends them again.")
    if waiting and not paused:
        size, seconds = settings.flush_queue_size, settings.sleep_timeout
        advice.append(f"A batch is sent when {size} events wait, or after {seconds} s; flush() sends immediately.")
    return advice
