# The import ID is the title of the note.
terraform import @@name@@_note.example groceries
