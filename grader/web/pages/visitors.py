"""Who visits a page, by the session of the browser."""

# FastAPI reads the types at run time, so this module does not postpone annotations.

from typing import Annotated

from fastapi import Depends, Request

from grader.accounts.callers import Caller, check_session
from grader.accounts.sign_in import make_csrf_token
from grader.errors import NotSignedIn
from grader.store.database import Session
from grader.web.auth import counting_invalid_credentials, find_session_secret
from grader.web.service import get_received_at, get_service


class Visitor:
    """The person of a browser session.

    Who it is, is asked in the first read session of the request, together with all that the page
    reads. Nothing is told of a page before.
    """

    __slots__ = ("_caller", "_request", "secret")

    def __init__(self, request: Request, secret: str) -> None:
        self.secret = secret
        self._request = request
        self._caller: Caller | None = None

    @property
    def is_identified(self) -> bool:
        """Whether it is known who visits."""
        return self._caller is not None

    def identify(self, session: Session) -> Caller:
        """The signed-in person, asked and counted once in a request.

        Raises
        ------
        NotSignedIn
            Where the session has ended.
        TooManyRequests
            Where the person calls too often.
        """
        if self._caller is None:
            request = self._request
            with counting_invalid_credentials(request):
                self._caller = check_session(session, self.secret, at=get_received_at(request))
            request.state.caller = self._caller.id
            get_service(request).budgets.spend("read", self._caller.id)
        return self._caller

    @property
    def caller(self) -> Caller:
        """The person as the use cases know them."""
        if self._caller is None:
            with get_service(self._request).database.read() as session:
                return self.identify(session)
        return self._caller

    @property
    def name(self) -> str:
        """The person's name."""
        return self.caller.need_person().name

    @property
    def csrf(self) -> str:
        """The token that every form of this visitor carries."""
        return make_csrf_token(self.secret)


async def get_visitor(request: Request) -> Visitor:
    """Who visits; NotSignedIn leads to the sign-in page.

    Before a change it is asked at once who it is; a page asks when it begins to read.
    """
    secret = find_session_secret(request)
    if secret is None:
        raise NotSignedIn
    visitor = request.state.visitor = Visitor(request, secret)
    if request.method != "GET":
        await identify_visitor(request)
    return visitor


async def identify_visitor(request: Request) -> None:
    """Ask who visits, if a page needs to know and nothing has asked yet."""
    visitor: Visitor | None = getattr(request.state, "visitor", None)
    if visitor is not None and not visitor.is_identified:
        await get_service(request).run_in_reader(lambda: visitor.caller)


VisitorDep = Annotated[Visitor, Depends(get_visitor)]
