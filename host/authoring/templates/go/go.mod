module terraform-provider-@@name@@

go 1.24

@@sdk@@
