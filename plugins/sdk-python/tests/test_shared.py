import unittest

from wardian_sdk import ProviderError, run, shared


class Shared(unittest.TestCase):
    def setUp(self):
        self.addCleanup(shared.set_memory, shared.set_memory(shared.LocalMemory()))

    def test_values_are_set_in_the_expected_state(self):
        self.assertIsNone(shared.get("a"))
        first = shared.put("a", {"token": "ä"}, shared.ABSENT)
        self.assertIsNone(shared.put("a", 2, shared.ABSENT))
        second = shared.put("a", {"token": "b"}, shared.version(first))
        self.assertGreater(second, first)
        self.assertIsNone(shared.put("a", 3, shared.version(first)))
        self.assertEqual(shared.get("a"), shared.Value({"token": "b"}, second))
        self.assertFalse(shared.remove("a", shared.version(first)))
        self.assertTrue(shared.remove("a"))
        self.assertIsNone(shared.get("a"))

    def test_value_is_created_once_until_it_is_invalid(self):
        def fail():
            raise RuntimeError("no")

        with self.assertRaisesRegex(RuntimeError, "no"):
            shared.once("a", fail)
        self.assertEqual(shared.once("a", lambda: 1), 1)
        self.assertEqual(shared.once("a", lambda: 2), 1)
        self.assertEqual(shared.once("a", lambda: 3, is_valid=lambda value: value > 1), 3)
        self.assertIsNone(shared.once("none", lambda: None))
        self.assertIsNone(shared.once("none", lambda: 1))

    def test_lock_is_released(self):
        held = shared.lock("zone")
        self.assertTrue(held.renew(1))
        with self.assertRaises(ProviderError):
            shared.lock("zone")
        held.release()
        self.assertFalse(held.renew(1))
        with self.assertRaisesRegex(RuntimeError, "inside"), shared.lock("zone"):
            raise RuntimeError("inside")
        following = shared.lock("zone")
        held.release()
        self.assertTrue(following.renew(1), "a second release has no effect")

    def test_rate_spreads_events_and_ends_with_an_interruption(self):
        class Run:
            is_interrupted = False
            waited = 0

            def interrupted(self):
                return self.is_interrupted

            def sleep(self, milliseconds):
                self.waited += milliseconds
                return self.is_interrupted

        clock = Run()
        self.addCleanup(run.set_run, run.set_run(clock))
        limiter = shared.RateLimiter("api", events=60, seconds=60, burst=2)
        limiter.wait()
        limiter.wait()
        self.assertEqual(clock.waited, 0)
        limiter.wait()
        self.assertTrue(900 < clock.waited <= 1000, clock.waited)
        clock.is_interrupted = True
        with self.assertRaises(shared.SharedError) as raised:
            limiter.wait()
        self.assertEqual(raised.exception.reason, "interrupted")
        with self.assertRaises(shared.SharedError):
            shared.RateLimiter("never", events=0).wait()
