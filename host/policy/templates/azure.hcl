providers = ["hashicorp/azurerm", "hashicorp/azuread", "Azure/azapi"]

notes = [
  "If the provider runs az through /bin/sh, sign-in through az needs another process rule.",
]

allow network {
  hosts = [
    "management.azure.com",
    "login.microsoftonline.com",
    "graph.microsoft.com",
    "**.vault.azure.net",
    "**.core.windows.net",
    "**.servicebus.windows.net",
  ]
  reason = "the Azure APIs"
}

allow network {
  hosts  = ["**.actions.githubusercontent.com"]
  reason = "identity tokens of GitHub Actions"
}

allow filesystem {
  directories = ["$ARM_CLIENT_CERTIFICATE_PATH", "$ARM_OIDC_TOKEN_FILE_PATH", "$AZURE_FEDERATED_TOKEN_FILE"]
  reason      = "files that environment variables name"
}

allow environment {
  names  = ["ARM_*", "AZURE_*", "ACTIONS_ID_TOKEN_REQUEST_*"]
  reason = "credentials and settings"
}

allow process {
  program   = "az"
  arguments = ["account", "get-access-token", "..."]
  reason    = "sign-in through the Azure CLI"
}

allow process {
  program   = "az"
  arguments = ["account", "show", "..."]
  reason    = "sign-in through the Azure CLI"
}

allow process {
  program   = "az"
  arguments = ["account", "list", "..."]
  reason    = "sign-in through the Azure CLI"
}

allow process {
  program   = "az"
  arguments = ["version", "..."]
  reason    = "sign-in through the Azure CLI"
}

instance_credentials {
  allow network {
    hosts   = ["169.254.169.254"]
    schemes = ["http"]
    reason  = "the managed identity of the machine"
  }
}
