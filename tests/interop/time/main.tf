terraform {
  required_providers {
    time = {
      source = "hashicorp/time"
    }
  }
}

# What changes when this does.
variable "revision" {
  type    = string
  default = "one"
}

resource "time_offset" "it" {
  base_rfc3339 = "2020-02-12T06:36:13Z"
  offset_days  = var.revision == "one" ? 7 : 14
}

resource "time_rotating" "it" {
  rotation_days = var.revision == "one" ? 30 : 60
}

resource "time_sleep" "it" {
  create_duration = var.revision == "one" ? "10ms" : "20ms"
}

resource "time_static" "it" {
  triggers = { revision = var.revision }
}

output "parsed" {
  value = [
    provider::time::rfc3339_parse("2020-02-12T06:36:13Z").unix,
    provider::time::duration_parse("1h30m").minutes,
    provider::time::unix_timestamp_parse(1581489373).rfc3339,
  ]
}
