import unittest

from @@name@@_provider import provider


class ProviderTest(unittest.TestCase):
    def test_provider_has_a_resource_and_a_data_source(self):
        self.assertEqual(list(provider.resources), ["@@name@@_note"])
        self.assertEqual(list(provider.data_sources), ["@@name@@_greeting"])
