providers = ["integrations/github"]

hosts {
  description = "the hosts of the GitHub server's API"
  default     = ["api.github.com", "uploads.github.com"]
}

allow network {
  hosts     = ["{hosts}"]
  addresses = ["public", "private"]
  reason    = "the GitHub API"
}

allow environment {
  names  = ["GITHUB_*", "GH_*"]
  reason = "credentials and settings"
}

allow process {
  program   = "gh"
  arguments = ["auth", "token", "..."]
  reason    = "the token of the GitHub CLI"
}
