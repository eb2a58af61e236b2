Feature: The resources of the plan

  Scenario: Triggers are set
    Given I have null_resource defined
    Then it must contain triggers

  Scenario: Secrets are long
    Given I have random_password defined
    Then it must contain length
    And its value must be greater than 10

  Scenario: Files are in the module
    Given I have local_file defined
    Then it must contain filename
    And its value must match the "^\./.*\.txt$" regex

  Scenario: The revision is set
    Given I have revision variable configured
    Then its value must be two
