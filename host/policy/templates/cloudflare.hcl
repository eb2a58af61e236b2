providers = ["cloudflare/cloudflare"]

allow network {
  hosts  = ["api.cloudflare.com"]
  reason = "the Cloudflare API"
}

allow environment {
  names  = ["CLOUDFLARE_*"]
  reason = "credentials and settings"
}
