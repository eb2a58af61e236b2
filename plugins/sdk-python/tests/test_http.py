import io
import unittest

from wardian_sdk import http, run


class Recorder:
    def send(self, request: http.Request) -> http.Response:
        self.request = request
        return http.Response(200, {}, io.BytesIO())


class Interrupted:
    def interrupted(self) -> bool:
        return True

    def sleep(self, milliseconds: int) -> bool:
        return True


class EndsOnInterrupt(unittest.TestCase):
    def ends(self, method, **options):
        recorder = Recorder()
        http.set_transport(recorder)
        http.request(method, "https://api.example/a", **options)
        return recorder.request.ends_on_interrupt

    def test_only_requests_that_change_nothing_end(self):
        for method in ("GET", "HEAD", "OPTIONS", "get"):
            self.assertIs(self.ends(method), True, method)
        for method in ("POST", "PUT", "PATCH", "DELETE", "PROPFIND"):
            self.assertIs(self.ends(method), False, method)
        self.assertIs(self.ends("POST", ends_on_interrupt=True), True)
        self.assertIs(self.ends("GET", ends_on_interrupt=False), False)

    def test_requests_after_an_interruption_continue(self):
        self.addCleanup(run.set_run, run.set_run(Interrupted()))
        self.assertIs(self.ends("GET"), False)
        self.assertIs(self.ends("POST", ends_on_interrupt=True), False)
