# The access of plugins in this directory. This file defers to the policies of the user and of the
# organisation; "wardian plugin dev" grants what the provider declares in the user's policy, for its
# plans only. Elsewhere, run: wardian policy grant @@source@@
otherwise = "defer"
