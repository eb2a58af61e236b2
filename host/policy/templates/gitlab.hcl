providers = ["gitlabhq/gitlab"]

hosts {
  description = "the GitLab server"
  default     = ["gitlab.com"]
}

allow network {
  hosts     = ["{hosts}"]
  addresses = ["public", "private"]
  reason    = "the GitLab API"
}

allow environment {
  names  = ["GITLAB_*", "CI_*"]
  reason = "credentials and settings"
}
