providers = ["DataDog/datadog"]

allow network {
  hosts  = ["**.datadoghq.com", "**.datadoghq.eu"]
  reason = "the Datadog API"
}

allow environment {
  names  = ["DD_*", "DATADOG_*"]
  reason = "credentials and settings"
}
