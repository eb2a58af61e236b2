providers = ["cyrilgdn/postgresql"]

hosts {
  description = "the host of the PostgreSQL server"
}

allow network {
  hosts     = ["{hosts}"]
  schemes   = ["tcp"]
  ports     = ["5432"]
  addresses = ["public", "private", "loopback"]
  reason    = "the PostgreSQL server"
}

allow filesystem {
  directories = ["~/.pgpass", "~/.postgresql"]
  reason      = "passwords and certificates"
}

allow filesystem {
  directories = ["$PGPASSFILE", "$PGSSLCERT", "$PGSSLKEY", "$PGSSLROOTCERT"]
  reason      = "files that environment variables name"
}

allow environment {
  names  = ["PG*"]
  reason = "credentials and settings"
}
