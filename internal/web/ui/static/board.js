// Cards of the board are dragged to another status. The form of each card does the same.
(() => {
  'use strict';
  let held = null;
  const told = text => { document.getElementById('told').textContent = text; };
  const lane = e => e.target.closest && e.target.closest('[data-status]');
  const csrf = () => document.querySelector('input[name=csrf]').value;

  async function move(card, to) {
    const from = card.parentNode, before = card.nextSibling, select = card.querySelector('select');
    to.append(card);
    const body = new URLSearchParams({csrf: csrf(), item: card.dataset.oid, status: to.dataset.status});
    let refusal = 'The service does not answer.', undo = '';
    try {
      const answer = await fetch(card.closest('[data-move]').dataset.move, {method: 'POST', body, headers: {'HX-Request': 'true'}});
      refusal = await refusalOf(answer);
      undo = answer.headers.get('Alds-Undo');
    } catch { /* refusal has its default text */ }
    if (refusal) from.insertBefore(card, before);
    else if (select) select.value = to.dataset.status;
    const number = card.querySelector('a').textContent;
    const text = refusal || `${number} is moved to ${to.getAttribute('aria-label')}.`;
    told(text);
    toast(text, undo);
    [from, to].forEach(count);
  }

  function count(column) {
    const cards = [...column.querySelectorAll('article')];
    const sum = cards.reduce((all, card) => all + Number(card.dataset.estimate), 0);
    column.querySelector('h2 small').textContent = cards.length + (sum ? ` · ${Math.round(sum * 100) / 100} estimated` : '');
  }

  const ready = () => document.querySelectorAll('.board article:has(form)').forEach(card => { card.draggable = true; });
  const over = column => document.querySelectorAll('.board .over').forEach(c => c !== column && c.classList.remove('over'));
  document.addEventListener('dragstart', e => {
    held = e.target.closest('.board article');
    if (held) { e.dataTransfer.effectAllowed = 'move'; e.dataTransfer.setData('text/plain', held.dataset.oid); }
  });
  document.addEventListener('dragover', e => {
    const column = held && lane(e);
    over(column);
    if (column) { e.preventDefault(); column.classList.add('over'); }
  });
  document.addEventListener('drop', e => {
    const column = held && lane(e);
    if (!column) return;
    e.preventDefault();
    if (column !== held.parentNode) move(held, column);
  });
  document.addEventListener('dragend', () => { held = null; over(null); });
  document.addEventListener('htmx:afterSwap', ready);
  ready();
})();
