# Creates a directory for a release and records the time, with programs of this machine.

variable "release" {
  description = "Name of the release."
  type        = string
  default     = "2026-11"

  validation {
    condition     = can(regex("^[0-9]{4}-[0-9]{2}$", var.release))
    error_message = "A release is named after its month, for example 2026-11."
  }
}

resource "terraform_data" "release" {
  triggers_replace = [var.release]

  provisioner "local-exec" {
    interpreter = ["mkdir", "-p"]
    command     = "releases/${var.release}"
  }

  provisioner "local-exec" {
    interpreter = ["touch"]
    command     = "releases/${var.release}/created"
  }
}

output "directory" {
  value = "releases/${var.release}"
}
