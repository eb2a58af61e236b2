run "note_contains_the_greeting" {
  assert {
    condition     = output.note.text == "Hello, Ada!"
    error_message = "The note must contain the greeting."
  }
}

run "text_is_changed_in_place" {
  variables {
    name = "Grace"
  }

  assert {
    condition     = output.note.text == "Hello, Grace!"
    error_message = "The note must contain the new greeting."
  }

  assert {
    condition     = output.note.id == run.note_contains_the_greeting.note.id
    error_message = "The note must not be replaced."
  }
}
