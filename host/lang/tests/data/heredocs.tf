locals {
  a = <<-EOT
    one
      two
    ${1}
   three
  EOT
  b = <<-EOT
      ${1} x

      y
    z
  EOT
  c = <<EOT
  a ~ ${~ 1 ~}   

   b
  %{ if true ~}
  yes
  %{ else ~}
  no
  %{ endif ~}
  end
EOT
  d = <<-EOT
    %{ for x in ["a","b"] ~}
    item ${x}
    %{ endfor ~}
    done
  EOT
  e = <<-EOT
	tab
	  tab2
  EOT
  f = <<EOT
$${a} %%{b} \n "q" $x $$ %
EOT
  g = <<-EOT
    a
 	${"x"}
    EOT
  h = <<EOT
EOT
  i = "${ "a" ~}   b  ${~ "c"}"
  j = "a  %{~ if true ~}  b  %{~ endif ~}  c"
  k = <<EOT
x EOT
 EOTx
EOT
  l = <<EOT
  %{ for x in ["a","b"] }${x}
  %{ endfor }
EOT
 m = "$$ $${ %%{ $ { $$${1}"
 n = <<-EOT
   ${1}
     a${2
}b
   c
   EOT
 o = "\u00e9\U0001F600\t\"\\"
 p = <<EOT
  a

  ${~ 1 ~}


  b
EOT
}
