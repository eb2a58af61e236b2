# What a plan of a pull request may do. The CI job sets WARDIAN_POLICY to this file, from a
# checkout of the main branch and not of the pull request.

plugin "*" {
  native = "deny"

  deny network {
    reason = "plans of pull requests have no network"
  }
  deny environment {
    names  = ["*"]
    reason = "plans of pull requests have no secrets"
  }
  deny process {
    reason = "plans of pull requests run no programs"
  }
  limits {
    memory    = "256 MiB"
    wall_time = "1m"
  }
}

plugin "hashicorp/local" {
  allow filesystem {
    directories = ["."]
    access      = ["read"]
  }
}

plugin "hashicorp/time" {}
