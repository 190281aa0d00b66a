{# One model is one priced question: its answer becomes a seed, its price and receipt the seed's meta. #}
{% materialization question, adapter='postgres' %}
  {% set epsilon, name = config.require('epsilon'), model.name ~ '_answer' %}
  {% do run_query("SET discreet.epsilon = '" ~ epsilon ~ "'") %}
  {% call statement('main', fetch_result=True) %}{{ sql }}{% endcall %}
  {% do load_result('main').table.to_csv('seeds/' ~ name ~ '.csv') %}
  {% set receipt = run_query('SHOW discreet.receipt').columns[0].values()[0] %}
  {% set meta = ['- name: ' ~ name, '  config:', '    meta:',
                 '      epsilon: ' ~ epsilon, '      receipt: ' ~ receipt] %}
  {% set lines = run_query("SELECT unnest(string_to_array('" ~ meta | join('|') ~ "', '|')) AS \"seeds:\"") %}
  {% do lines.to_csv('seeds/' ~ name ~ '.yml', quoting=3) %}
  {{ return({'relations': []}) }}
{% endmaterialization %}
