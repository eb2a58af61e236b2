import unittest

from wardian_sdk import UNKNOWN, Context

from @@name@@_provider.note import Note, validate_title


class NoteTest(unittest.TestCase):
    def test_note_has_an_id(self):
        created = Note().create({"title": "a", "text": "b", "id": UNKNOWN}, Context())
        self.assertEqual(created, {"title": "a", "text": "b", "id": "note-a"})

    def test_imported_note_is_as_created(self):
        created = Note().create({"title": "a", "text": "", "id": UNKNOWN}, Context())
        self.assertEqual(Note().import_state("a", Context()), created)

    def test_invalid_titles_are_rejected(self):
        for title in ("", "ä" * 81):
            self.assertIn("1 to 80", validate_title(title) or "")
        self.assertIsNone(validate_title("ä" * 80))
