*** Settings ***
Library    TerraformLibrary
Library    Collections

*** Test Cases ***
Init
    ${rc}    ${output}    Terraform Init    ${PROJECT}
    Should Be Equal As Integers    ${rc}    0
    Should Contain    ${output}    Terraform has been successfully initialized!

Plan With Variables
    &{variables}    Create Dictionary    revision=two
    ${rc}    ${output}    Terraform Plan    ${PROJECT}    ${variables}
    Should Be Equal As Integers    ${rc}    0
    Should Contain    ${output}    Plan: 8 to add, 0 to change, 0 to destroy.

Plan With An Error
    &{variables}    Create Dictionary    parts=text
    ${rc}    ${output}    Terraform Plan    ${PROJECT}    ${variables}
    Should Be Equal As Integers    ${rc}    1
    Should Contain    ${output}    Error:

Apply With Variables From The Environment
    Set TF Var    revision    three
    ${rc}    ${output}    Terraform Apply    ${PROJECT}
    Should Be Equal As Integers    ${rc}    0
    Should Contain    ${output}    Apply complete! Resources: 8 added, 0 changed, 0 destroyed.

State
    ${state}    Get Terraform State    ${PROJECT}
    Should Be Equal    ${state}[values][outputs][greeting][value]    hello three\n
    Length Should Be    ${state}[values][root_module][resources]    8
    Should Be Equal    ${state}[values][root_module][child_modules][0][address]    module.part

Destroy
    ${rc}    ${output}    Terraform Destroy    ${PROJECT}
    Should Be Equal As Integers    ${rc}    0
    Should Contain    ${output}    Destroy complete! Resources: 8 destroyed.
