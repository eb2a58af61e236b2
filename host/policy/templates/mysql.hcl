providers = ["petoju/mysql"]

hosts {
  description = "the host of the MySQL server"
}

allow network {
  hosts     = ["{hosts}"]
  schemes   = ["tcp"]
  ports     = ["3306"]
  addresses = ["public", "private", "loopback"]
  reason    = "the MySQL server"
}

allow environment {
  names  = ["MYSQL_*"]
  reason = "credentials and settings"
}
