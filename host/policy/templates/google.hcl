providers = ["hashicorp/google", "hashicorp/google-beta"]

allow network {
  hosts  = ["**.googleapis.com", "accounts.google.com"]
  reason = "the Google Cloud APIs"
}

allow filesystem {
  directories = ["~/.config/gcloud/application_default_credentials.json"]
  reason      = "the user's credentials"
}

allow filesystem {
  directories = ["$GOOGLE_APPLICATION_CREDENTIALS"]
  reason      = "files that environment variables name"
}

allow environment {
  names  = ["GOOGLE_*", "CLOUDSDK_*", "GCLOUD_*"]
  reason = "credentials and settings"
}

instance_credentials {
  allow network {
    hosts     = ["metadata.google.internal", "169.254.169.254"]
    schemes   = ["http"]
    addresses = ["metadata"]
    reason    = "the credentials of the instance"
  }
}
