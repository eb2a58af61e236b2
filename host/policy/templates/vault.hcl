providers = ["hashicorp/vault"]

notes = [
  "A token helper, which ~/.vault names, needs a process rule.",
]

hosts {
  description = "the host in VAULT_ADDR"
}

allow network {
  hosts     = ["{hosts}"]
  ports     = ["8200"]
  addresses = ["public", "private", "loopback"]
  reason    = "the Vault server"
}

allow filesystem {
  directories = ["~/.vault-token", "~/.vault"]
  reason      = "the user's token and settings"
}

allow filesystem {
  directories = ["$VAULT_CACERT", "$VAULT_CAPATH", "$VAULT_CLIENT_CERT", "$VAULT_CLIENT_KEY"]
  reason      = "files that environment variables name"
}

allow environment {
  names  = ["VAULT_*"]
  reason = "credentials and settings"
}
