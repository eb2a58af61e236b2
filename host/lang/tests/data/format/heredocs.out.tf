a = <<EOT
text
   kept  ${x}   ${y}
EOT
b = <<-EOT
      text
    kept
    EOT
c = 1
block {
  d = <<EOT
  ${x}
EOT
  e = <<-EOT
    %{if x}
      a
    %{endif}
    EOT
}
