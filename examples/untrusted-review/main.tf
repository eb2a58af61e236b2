# A configuration as a pull request contains it. The job that plans it uses -untrusted and
# the policy in ci/organisation.policy.hcl; see README.md in this folder.

terraform {
  required_providers {
    local = {
      source  = "hashicorp/local"
      version = "~> 2.5"
    }
    time = {
      source  = "hashicorp/time"
      version = "~> 0.13"
    }
  }
}

resource "time_static" "reviewed" {}

resource "local_file" "note" {
  filename = "${path.module}/note.txt"
  content  = "Reviewed at ${time_static.reviewed.rfc3339}.\n"
}
