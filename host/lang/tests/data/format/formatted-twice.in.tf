block {
  a = f(<<EOT
${a
    + b
  }
EOT
, 2)
b = 2
}
