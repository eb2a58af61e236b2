providers = ["digitalocean/digitalocean"]

allow network {
  hosts  = ["api.digitalocean.com", "**.digitaloceanspaces.com"]
  reason = "the DigitalOcean API"
}

allow environment {
  names  = ["DIGITALOCEAN_*", "SPACES_*"]
  reason = "credentials and settings"
}
