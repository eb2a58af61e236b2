import unittest

from wardian_sdk import Context

from @@name@@_provider.greeting import Greeting, validate_name


class GreetingTest(unittest.TestCase):
    def test_greeting_contains_the_name(self):
        read = Greeting().read({"name": "Ada", "text": None}, Context())
        self.assertEqual(read, {"name": "Ada", "text": "Hello, Ada!"})

    def test_empty_name_is_rejected(self):
        self.assertIn("empty", validate_name("") or "")
        self.assertIsNone(validate_name("Ada"))
