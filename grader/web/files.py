"""Responses that carry an uploaded file."""

from __future__ import annotations

from fastapi import Response

from grader.grading.submissions.uploads import UploadedFile

PDF = "application/pdf"


def download_pdf(found: UploadedFile) -> Response:
    """Send a PDF as a download, so that nothing in it runs as a page of this site."""
    return Response(
        found.content,
        media_type=PDF,
        headers={
            "Content-Disposition": f'attachment; filename="{found.line.name}"',
            "Content-Security-Policy": "default-src 'none'; sandbox",
        },
    )
