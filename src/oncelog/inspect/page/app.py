"""The page over HTTP: routes, who may ask, and the stream that keeps it live."""

import asyncio
import hmac
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl, quote, urlencode

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from oncelog.client.faults import ClientFault
from oncelog.errors import OncelogError
from oncelog.inspect.abort import ChangedSince, NothingToAbort, Shown
from oncelog.inspect.commands import about, command
from oncelog.inspect.inspector import Inspector, TransactionPage
from oncelog.inspect.page import screens
from oncelog.inspect.page.markup import Safe, el, join, link
from oncelog.inspect.page.shared import Shared
from oncelog.inspect.timeline import Timeline
from oncelog.model import TopicPartition

STATIC: Final = Path(__file__).parent / "static"
MEASURED: Final = Path(__file__).parent / "measured"  # what was measured for this release
TICK_S: Final = 1.0
EARLY_S: Final = 0.05
SHARED_S: Final = (
    0.8  # an answer to one tab is the other tabs' too; below TICK_S, or a tab would see it twice
)
WAITING_AT_MOST: Final = 3  # for a story or a measurement: one runs at a time
FOR_PROGRAMS: Final = ("/api/", "/metrics", "/events", "/healthz", "/readyz", "/static/")
FORM_LIMIT_BYTES: Final = 16_384
ResultT = TypeVar("ResultT")
API: Final = (
    "now",
    "txn",
    "txn/ID",
    "history/ID",
    "topics",
    "partition/TOPIC/N",
    "groups",
    "spark",
    "explain/ERROR",
    "doctor",
)
HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class BadForm(Exception):
    """A form that this page did not send."""

    def __init__(self, status: int, message: str, title: str = "Not understood") -> None:
        super().__init__(message)
        self.status = status
        self.title = title


@dataclass(frozen=True, slots=True)
class Story:
    """A scenario of the Learn screen; `run` plays it on a broker of its own."""

    key: str
    title: str
    what: str
    run: Callable[[], tuple[Timeline, Sequence[str]]]


@dataclass(frozen=True, slots=True)
class Access:
    """Who may ask. On a loopback address everybody may read; changes need the token, and elsewhere reading too."""

    token: str
    hosts: frozenset[
        str
    ]  # what a Host header may say: with another name a page of a stranger could ask (rebinding)
    origins: frozenset[str]  # pages that may ask for changes: this one, by all its names
    reading_needs_token: bool
    on_every_address: (
        bool  # it listens on all of the machine's: then that which a request came to is a name too
    )
    port: int
    over_tls: frozenset[str] = frozenset()  # hosts that are reached through a proxy with TLS

    @property
    def cookie(self) -> str:
        """Cookies know no ports: pages of two brokers on one host would take each other's."""
        return f"oncelog_token_{self.port}"

    def knows(self, given: str | None) -> bool:
        return given is not None and hmac.compare_digest(given.encode(), self.token.encode())


def bracketed(host: str) -> str:
    """A host as it stands before a port."""
    return f"[{host}]" if ":" in host else host


class _Guard(BaseHTTPMiddleware):
    """Looks at every request before anybody else does, and puts the headers on every answer."""

    def __init__(self, app: Any, access: Access) -> None:
        super().__init__(app)
        self._access = access

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        refused = self._refusal(request)
        is_given = refused is None and self._access.knows(request.query_params.get("token"))
        if refused is not None:
            response = refused
        elif is_given and request.method == "GET" and not request.url.path.startswith(FOR_PROGRAMS):
            response = RedirectResponse(_without_token(request), 303)  # it must not stay in the address
        else:
            response = await call_next(request)
        for name, value in HEADERS.items():
            response.headers[name] = value
        if is_given:
            response.set_cookie(
                self._access.cookie,
                self._access.token,
                httponly=True,
                samesite="strict",
                secure=request.headers.get("host", "").lower() in self._access.over_tls,
            )
        return response

    def _refusal(self, request: Request) -> Response | None:
        host = request.headers.get("host", "").lower()
        if host not in self._access.hosts and host != self._came_to(request):
            wanted = " or ".join(sorted(self._access.hosts))
            return PlainTextResponse(f"wanted Host {wanted} (--ui-host NAME adds one)\n", 421)
        if request.method not in ("GET", "HEAD") and not self._same_origin(request):
            return PlainTextResponse("wanted a request of this page, found one of another origin\n", 403)
        if (
            self._access.reading_needs_token
            and request.url.path != "/healthz"
            and not any(self._access.knows(each) for each in tokens(request, self._access.cookie))
        ):
            return PlainTextResponse(
                "wanted the token that was printed at the start: open /?token=TOKEN once, or send it as Authorization: Bearer\n",
                401,
            )
        return None

    def _came_to(self, request: Request) -> str | None:
        """The address that a request was sent to, where every one of this machine will do. It is no name that somebody else
        could let point here.
        """
        server: tuple[str, int] | None = request.scope.get("server")
        if server is None or not self._access.on_every_address:
            return None
        return f"{bracketed(server[0])}:{server[1]}"

    def _same_origin(self, request: Request) -> bool:
        origin = request.headers.get("origin")
        if origin is None:
            return request.headers.get("sec-fetch-site") in (None, "same-origin")
        came_to = self._came_to(request)
        return origin in self._access.origins or (came_to is not None and origin == f"http://{came_to}")


def _without_token(request: Request) -> str:
    """The address that was asked for, on this host."""
    path = "/" + request.scope["raw_path"].decode("latin-1").lstrip("/\\")  # // would be another host
    rest = [(name, value) for name, value in request.query_params.multi_items() if name != "token"]
    return f"{path}?{urlencode(rest)}" if rest else path


def tokens(request: Request, cookie: str) -> list[str]:
    """All that a request gives as a token: in its address once, in the cookie from then on, or as programs do."""
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    given = [request.query_params.get("token"), request.cookies.get(cookie)]
    return [each for each in (*given, bearer if scheme.lower() == "bearer" else None) if each]


class Page:
    """One inspector, drawn."""

    def __init__(
        self,
        inspector: Inspector,
        access: Access,
        *,
        bootstrap: str,
        results: Path | None = None,
        stories: Sequence[Story] = (),
        measure: Callable[[], Sequence[Mapping[str, str]]] | None = None,
        is_ready: Callable[[], object] | None = None,
    ) -> None:
        """`is_ready` asks the cluster a short question of its own and raises ClientFault; else one of the inspector's is asked."""
        self._inspector = inspector
        self._access = access
        self._bootstrap = bootstrap
        self._results = results
        self._stories = {each.key: each for each in stories}
        self._measure = measure
        self._is_ready = is_ready or inspector.topics
        self._playing = asyncio.Lock()
        self._waiting = 0
        self._shared = Shared(SHARED_S)

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/", self._home),
                Route("/now", self._screen(self._now)),
                Route("/txn", self._screen(self._transactions)),
                Route("/txn/{tid:path}", self._screen(self._transaction)),
                Route("/history/{tid:path}", self._screen(self._history)),
                Route("/topics", self._screen(self._topics)),
                Route("/partition/{topic}/{partition:int}", self._screen(self._partition)),
                Route("/groups", self._screen(self._groups)),
                Route("/spark", self._screen(self._spark)),
                Route("/cost", self._screen(self._cost), methods=["GET", "POST"]),
                Route("/learn", self._screen(self._learn), methods=["GET", "POST"]),
                Route("/explain/{error:path}", self._screen(self._explain)),
                Route("/abort", self._screen(self._abort), methods=["GET", "POST"]),
                Route("/api/{what:path}", self._api),
                Route("/events", self._events),
                Route("/metrics", self._metrics_text),
                Route("/healthz", self._health),
                Route("/readyz", self._ready),
                Mount("/static", StaticFiles(directory=STATIC)),
            ],
            middleware=[Middleware(_Guard, access=self._access)],
        )

    # ---- what every screen does

    def _screen(
        self, make: Callable[[Request], Awaitable["Screen | Response"]]
    ) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            is_fragment = request.headers.get("x-fragment") == "1"
            if request.method == "GET":
                # The tabs that look at one screen all ask at the same tick. Who opens one anew is told what is so now.
                asked = f"{request.url.path}?{request.url.query}"
                made, status = await self._shared.ask(
                    asked, lambda: self._made(make, request), anew=not is_fragment
                )
            else:
                made, status = await self._made(make, request)
            if isinstance(made, Response):
                return made
            if is_fragment:
                return HTMLResponse(screens.inner(made.title, made.body, made.beside), status)
            document = screens.page(
                made.screen,
                made.title,
                made.command,
                made.body,
                bootstrap=self._bootstrap,
                live=made.live,
                beside=made.beside,
            )
            return HTMLResponse(document, status)

        return answer

    async def _made(
        self, make: Callable[[Request], Awaitable["Screen | Response"]], request: Request
    ) -> tuple["Screen | Response", int]:
        """A screen and its status; one that says what went wrong, if something did."""
        try:
            made = await make(request)
        except ChangedSince as fault:
            body = join(
                el("p", str(fault), class_="warning"),
                el("p", "Nothing was done. ", link("Look again", "now")),
            )
            return Screen("now", "Not what was shown", "oncelog txn stuck", body, live=False), 409
        except NothingToAbort as fault:
            body = join(el("p", str(fault), class_="warning"), el("p", link("Look again", "now")))
            return Screen("now", "Nothing to abort", "oncelog txn stuck", body, live=False), 409
        except BadForm as fault:
            body = el("p", str(fault), class_="warning")
            return Screen("now", fault.title, "oncelog --help", body, live=False), fault.status
        except (ClientFault, OncelogError) as fault:
            body = el("p", str(fault), class_="warning")
            return Screen("now", "The cluster does not answer", "oncelog doctor", body), 502
        except ValueError as fault:  # of the record of a tap, or of a log
            body = el("p", str(fault), class_="warning")
            return Screen("now", "What was read makes no sense", "oncelog doctor", body), 502
        return made, 404 if isinstance(made, Screen) and made.missing else 200

    async def _home(self, _: Request) -> Response:
        return RedirectResponse("/now")

    # ---- screens

    async def _now(self, _: Request) -> "Screen":
        value = await run_in_threadpool(self._inspector.now)
        return Screen("now", "Now", "oncelog txn stuck; oncelog txn ls --state Ongoing", screens.now(value))

    async def _transactions(self, request: Request) -> "Screen":
        match = request.query_params.get("match", "")
        found, count, away = await run_in_threadpool(
            self._inspector.transactions, match or None, screens.SHOWN_ROWS
        )
        body = join(screens.not_asked(away), screens.transaction_list(found, count, match))
        return Screen("txn", "Transactional ids", command("txn", "ls", "--match", match or "*"), body)

    async def _transaction(self, request: Request) -> "Screen":
        tid = _id(request)
        last = _last(request)
        value = await run_in_threadpool(self._inspector.transaction, tid, last)
        same = f"{about('show', tid)}; {about('trace', tid, '--last', last)}"
        if value is None:
            body = el("p", "Its coordinator does not know it.", class_="empty")
            return Screen("txn", tid, same, body, missing=True)
        return Screen("txn", tid, same, screens.transaction(value), beside=screens.transaction_head(value))

    async def _history(self, request: Request) -> "Screen":
        tid = _id(request)
        value = await run_in_threadpool(self._inspector.history, tid)
        same = about("replay", tid, "--all")
        if value is None:
            body = el("p", "Its coordinator does not know it.", class_="empty")
            return Screen("txn", tid, same, body, missing=True)
        return Screen("txn", tid, same, screens.history(value), beside=screens.history_head(value))

    async def _topics(self, _: Request) -> "Screen":
        found = await run_in_threadpool(self._inspector.topics)
        return Screen("topics", "Topics", "oncelog topics ls --internal", screens.topics(found), live=False)

    async def _partition(self, request: Request) -> "Screen":
        where = TopicPartition(request.path_params["topic"], request.path_params["partition"])
        offset = _number(request, "offset")
        value = await run_in_threadpool(
            lambda: self._inspector.partition(where, start=_number(request, "start"))
        )
        hexed = [] if offset is None else await run_in_threadpool(self._inspector.hex_of, where, offset)
        same = command(
            "consume", where.topic, "--partition", where.partition, "--isolation", "both", "--to-end"
        )
        return Screen("topics", str(where), same, screens.partition(value, hexed, offset))

    async def _groups(self, _: Request) -> "Screen":
        found, away = await run_in_threadpool(self._inspector.groups)
        body = join(screens.not_asked(away), screens.groups(found))
        return Screen("groups", "Groups", "oncelog groups describe GROUP", body)

    async def _spark(self, _: Request) -> "Screen":
        found, away = await run_in_threadpool(self._inspector.spark)
        body = join(screens.not_asked(away), screens.spark(found))
        return Screen("spark", "Spark queries", "oncelog txn replay TRANSACTIONAL_ID --all", body)

    async def _cost(self, request: Request) -> "Screen":
        measured: Sequence[Mapping[str, str]] | None = None
        if request.method == "POST" and self._measure is not None:
            measured = await self._alone(self._measure)
        body = await run_in_threadpool(
            lambda: screens.cost(self._results, measured, can_measure=self._measure is not None)
        )
        return Screen("cost", "The cost of exactly-once", "oncelog bench eos", body, live=False)

    async def _learn(self, request: Request) -> "Screen":
        told: Timeline | None = None
        said: Sequence[str] = ()
        chosen: str | None = None
        if request.method == "POST":
            chosen = (await _form(request)).get("story", "")
            story = self._stories.get(chosen)
            if story is None:
                raise BadForm(400, f"wanted one of {', '.join(self._stories)}, found {chosen!r}")
            told, said = await self._alone(story.run)
        rows = [(each.key, each.title, each.what) for each in self._stories.values()]
        return Screen("learn", "Learn", "make demo", screens.learn(rows, told, chosen, said), live=False)

    async def _alone(self, run: Callable[[], ResultT]) -> ResultT:
        """One broker of our own at a time: two would measure each other, and many would take the machine from who needs it."""
        if self._waiting > WAITING_AT_MOST:
            raise BadForm(429, "one runs already, and others wait for it: try again in a minute", "Busy")
        self._waiting += 1
        try:
            async with self._playing:
                return await run_in_threadpool(run)
        finally:
            self._waiting -= 1

    async def _explain(self, request: Request) -> "Screen":
        error, tid = request.path_params["error"], request.query_params.get("tid", "")
        value = await run_in_threadpool(self._inspector.explain, error, tid)
        same = command("explain", error, *(("--tid", tid) if tid else ()))
        if value is None:
            return Screen("txn", error, same, el("p", "No such error.", class_="empty"), missing=True)
        is_live = bool(tid)  # without an id the requests of all are looked through: once is enough
        return Screen("txn", f"{value.error} ({value.code})", same, screens.explanation(value), live=is_live)

    async def _abort(self, request: Request) -> "Screen | Response":
        asked = await _form(request) if request.method == "POST" else dict(request.query_params)
        tid = asked.get("tid") or None
        where, start = _place(asked)
        if request.method == "POST":
            given = asked.get("token") or request.cookies.get(self._access.cookie)
            if not self._access.knows(given):
                body = el("p", "Wanted the token that was printed at the start.", class_="warning")
                return HTMLResponse(
                    screens.page(
                        "now", "Refused", "oncelog txn abort", body, bootstrap=self._bootstrap, live=False
                    ),
                    403,
                )
        expected = _shown(asked) if request.method == "POST" else None
        plan = await run_in_threadpool(self._inspector.plan_abort, tid, where, start, expected)
        if request.method == "POST":
            await run_in_threadpool(self._inspector.abort, plan)
            self._shared.forget()
            return RedirectResponse("/now" if tid is None else f"/txn/?id={quote(tid, safe='')}", 303)
        hidden = {name: asked[name] for name in ("tid", "partition", "start") if asked.get(name)}
        hidden |= {name: str(value) for name, value in asdict(plan.shown).items() if name != "start"}
        hidden["began"] = str(plan.shown.start)
        has_token = self._access.knows(request.cookies.get(self._access.cookie))
        same = (
            about("abort", tid)
            if tid
            else command("txn", "abort", "--partition", where, "--start-offset", start)
        )
        seen = await run_in_threadpool(self._inspector.now)
        held = [
            each
            for each in seen.pins
            if (each.transactional_id == tid if tid else where == TopicPartition(each.topic, each.partition))
        ]
        body = screens.abort_form(plan, hidden, held, seen.at_ms, has_token=has_token)
        return Screen("now", "Abort?", same, body, live=False)

    # ---- the same values for programs

    async def _api(self, request: Request) -> Response:
        what, _, name = request.path_params["what"].partition("/")
        question = self._question(what, name or request.query_params.get("id", ""), request)
        if question is None:
            return JSONResponse({"error": f"wanted {', '.join(API)}"}, 404)
        try:
            value = await run_in_threadpool(question)
        except (ClientFault, OncelogError, ValueError) as fault:  # ValueError: a bad line of a tap
            return JSONResponse({"error": str(fault)}, 502)
        return JSONResponse(value, 404 if value is None else 200)

    def _question(self, what: str, name: str, request: Request) -> Callable[[], Any] | None:
        """What is to be asked, as a value for JSON; its answer is None if there is no such thing."""
        inspector, query = self._inspector, request.query_params
        if what == "txn" and name:
            return lambda: _transaction_of(inspector.transaction(name, _last(request)))
        if what == "history" and name:
            return lambda: _dict(inspector.history(name))
        if what == "explain" and name:
            return lambda: _dict(inspector.explain(name, query.get("tid", "")))
        if what == "partition":
            topic, _, number = name.rpartition("/")
            if not topic or not number.isdecimal():
                return None
            where = TopicPartition(topic, int(number))
            return lambda: _dict(inspector.partition(where, start=_number(request, "start")))
        if name:
            return None
        several: dict[str, Callable[[], Any]] = {
            "now": lambda: asdict(inspector.now()),
            "txn": lambda: _dicts(inspector.transactions(query.get("match"))[0]),
            "topics": lambda: [{"topic": each, "partitions": count} for each, count in inspector.topics()],
            "groups": lambda: _dicts(inspector.groups()[0]),
            "spark": lambda: _dicts(inspector.spark()[0]),
            "doctor": lambda: _dicts(inspector.doctor()),
        }
        return several.get(what)

    async def _events(self, request: Request) -> Response:
        """A tick a second: the page asks for its screen again when one comes. Numbered, so that a gap is seen."""
        last = request.headers.get("last-event-id", "")
        number = int(last) if last.isdecimal() else 0

        async def ticks() -> AsyncIterator[str]:
            nonlocal number
            while not await request.is_disconnected():
                number += 1
                yield f"id: {number}\nevent: tick\ndata: {json.dumps({'number': number})}\n\n"
                # For all tabs at the same moment; a timer that comes a little early must not make two ticks of one.
                moment = time.monotonic() + EARLY_S
                await asyncio.sleep(TICK_S - moment % TICK_S + EARLY_S)

        return StreamingResponse(ticks(), media_type="text/event-stream")

    async def _metrics_text(self, request: Request) -> Response:
        try:
            body = await run_in_threadpool(self._inspector.metrics, _number(request, "top") or 0)
        except ClientFault as fault:
            return PlainTextResponse(f"{fault}\n", 502)
        return PlainTextResponse(body, media_type="text/plain; version=0.0.4; charset=utf-8")

    async def _health(self, _: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def _ready(self, _: Request) -> Response:
        try:
            await run_in_threadpool(self._is_ready)
        except (ClientFault, OncelogError) as fault:
            return PlainTextResponse(f"{fault}\n", 503)
        return PlainTextResponse("ok\n")


@dataclass(frozen=True, slots=True)
class Screen:
    """What a screen shows, before it becomes a document or a fragment."""

    screen: str
    title: str
    command: str
    body: Safe
    live: bool = True
    missing: bool = False
    beside: Safe | None = None  # the heading


def _dict(value: Any) -> dict[str, Any] | None:
    return None if value is None else asdict(value)


def _dicts(values: Iterable[Any]) -> list[dict[str, Any]]:
    return [asdict(each) for each in values]


def _transaction_of(page: TransactionPage | None) -> dict[str, Any] | None:
    if page is None:
        return None
    return {**asdict(page.view), "states": _dicts(page.states), "events": _dicts(page.timeline.events)}


def _last(request: Request) -> int:
    """So many transactions are asked for."""
    return min(max(_number(request, "last") or 1, 1), 50)


async def _form(request: Request) -> dict[str, str]:
    """A form of plain fields; larger than it can be is refused unread."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > FORM_LIMIT_BYTES:
            raise BadForm(413, f"a form of more than {FORM_LIMIT_BYTES} bytes")
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


def _id(request: Request) -> str:
    """A transactional id in the path, or in the query where a path cannot hold it."""
    return request.path_params["tid"] or request.query_params.get("id", "")


def _number(request: Request, name: str) -> int | None:
    given = request.query_params.get(name)
    return int(given) if given is not None and given.isdecimal() else None


def _shown(asked: Mapping[str, str]) -> Shown:
    """Which transaction the form had shown: another one is not ended in its place."""
    numbers = [asked.get(name, "") for name in ("producer_id", "producer_epoch", "began")]
    if not all(each.lstrip("-").isdecimal() for each in numbers):
        raise BadForm(400, "wanted producer_id, producer_epoch and began, as the page that asks shows them")
    producer_id, producer_epoch, began = map(int, numbers)
    return Shown(producer_id, producer_epoch, began)


def _place(asked: Mapping[str, str]) -> tuple[TopicPartition | None, int | None]:
    topic, _, number = asked.get("partition", "").rpartition("-")
    start = asked.get("start", "")
    if not topic or not number.isdecimal() or not start.isdecimal():
        return None, None
    return TopicPartition(topic, int(number)), int(start)
